// Arrays of the checker that live shortly and are copied often. They lie in blocks that each worker keeps for the next
// one, so that neither making nor moving one costs more than what is in it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

namespace warploom::loom::check {

/// Of at least so many bytes; `bytes` becomes what it has.
void* take_block(size_t& bytes);
/// `bytes` as they were asked for, or as take_block has made them.
void give_block(void* block, size_t bytes) noexcept;

template <class T>
class Pooled {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Pooled() = default;
  Pooled(const Pooled& other) { assign(other); }
  Pooled(Pooled&& other) noexcept { swap(other); }
  Pooled& operator=(const Pooled& other) {
    if (this != &other) assign(other);
    return *this;
  }
  Pooled& operator=(Pooled&& other) noexcept {
    swap(other);
    other.clear();
    return *this;
  }
  ~Pooled() {
    if (data_ != nullptr) give_block(data_, capacity_ * sizeof(T));
  }

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

  void clear() { size_ = 0; }
  /// What is in it means nothing any more.
  void renew(size_t size) {
    size_ = 0;
    reserve(size);
    size_ = size;
  }
  void assign(std::span<const T> values) {
    renew(values.size());
    if (!values.empty()) std::memcpy(data_, values.data(), values.size_bytes());
  }
  T* insert(T* before, const T& value) {
    const auto at = before - data_;
    reserve(size_ + 1);
    std::memmove(data_ + at + 1, data_ + at, (size_ - static_cast<size_t>(at)) * sizeof(T));
    data_[at] = value;
    ++size_;
    return data_ + at;
  }
  /// All from there on.
  void cut(const T* from) { size_ = static_cast<size_t>(from - data_); }
  void swap(Pooled& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

 private:
  void reserve(size_t size) {
    if (size <= capacity_) return;
    size_t bytes = size * sizeof(T);
    T* const data = static_cast<T*>(take_block(bytes));
    if (size_ != 0) std::memcpy(data, data_, size_ * sizeof(T));
    if (data_ != nullptr) give_block(data_, capacity_ * sizeof(T));
    data_ = data;
    capacity_ = bytes / sizeof(T);
  }

  T* data_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
};

}  // namespace warploom::loom::check
