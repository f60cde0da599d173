#!/usr/bin/env bash
# Runs a command of this tree on a machine that has nothing: a root made by debootstrap (minbase, the release this machine
# runs), with the files that git tracks and this machine's apt configuration. What the command lacks there, it must install.
#
#   tools/fresh_root.sh ./dev demo
#   tools/fresh_root.sh ./dev test
#
# Needs root and Debian or Ubuntu. The exit status is the command's; 77 where no root could be made, and the reason is the
# last line. Mounts are in a namespace of their own, and the folder (under TMPDIR) is removed in the end.
set -euo pipefail

fail() {  # no root: no fault of the command
  printf 'fresh_root: %s\n' "$*" >&2
  exit 77
}

# ---- inside the namespace

if [[ ${1:-} == --inside ]]; then
  work=$2 root=$2/root
  shift 2
  mirror=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $VERSION_CODENAME" 'Identifier: Packages' 2>/dev/null | head -n 1)
  # Signed by the distribution's key, which is what debootstrap asks for by itself.
  if ! debootstrap --variant=minbase "$VERSION_CODENAME" "$root" ${mirror:+"$mirror"} >"$work/log" 2>&1 </dev/null; then
    tail -n 5 "$work/log" >&2
    fail "debootstrap could not make a root of $VERSION_CODENAME from ${mirror:-its own mirror}"
  fi

  # apt as it is here: sources, keys, proxies, and the certificates where a source is reached by https.
  rm -rf "${root:?}/etc/apt"
  cp -a /etc/apt "$root/etc/apt"
  mkdir -p "$root/usr/share/keyrings"
  cp -a /usr/share/keyrings/. "$root/usr/share/keyrings/"
  cp -L /etc/hosts "$root/etc/hosts"
  if apt-get indextargets --format '$(REPO_URI)' | grep -q '^https:' && [[ -e /etc/ssl/certs/ca-certificates.crt ]]; then
    mkdir -p "$root/etc/ssl/certs"
    cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
  fi

  mkdir "$root/warploom"
  tar -x -C "$root/warploom" <"$work/tree.tar"
  mount -t proc proc "$root/proc" || fail "/proc cannot be mounted in the root"
  mount -t tmpfs tmpfs "$root/dev/shm" || fail "/dev/shm cannot be mounted in the root"
  mkdir -p "$root/dev/pts"
  mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts "$root/dev/pts" || fail "/dev/pts cannot be mounted in the root"
  ln -sfn pts/ptmx "$root/dev/ptmx"

  settings=(HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
  for name in TERM CI {http,https,ftp,all,no}_proxy {HTTP,HTTPS,FTP,ALL,NO}_PROXY; do
    [[ -n ${!name:-} ]] && settings+=("$name=${!name}")
  done
  status=0
  env -i "${settings[@]}" chroot "$root" /bin/bash -c 'cd /warploom && exec "$@"' bash "$@" || status=$?
  exit "$status"
fi

# ---- outside

cd "$(dirname "${BASH_SOURCE[0]}")/.."
if (($# == 0)); then
  sed -n '2,/^set/ { /^#/ s/^# \{0,1\}//p }' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
((EUID == 0)) || fail "only root can make a root"
[[ -r /etc/os-release ]] && source /etc/os-release
command -v apt-get >/dev/null && [[ -n ${VERSION_CODENAME:-} ]] || fail "this machine is neither Debian nor Ubuntu"
export VERSION_CODENAME
unshare --mount --pid --fork true 2>/dev/null || fail "no mount namespace may be made here"

if ! command -v debootstrap >/dev/null; then
  apt=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
  { "${apt[@]}" update && "${apt[@]}" install -y --no-install-recommends debootstrap; } >/dev/null 2>&1 </dev/null ||
    fail "debootstrap is not there and cannot be installed"
fi
# debootstrap fetches with wget, which does not know apt's proxy.
for kind in http https; do
  name=${kind}_proxy proxy=
  eval "$(apt-config shell proxy "Acquire::$kind::Proxy")"
  [[ -z $proxy || $proxy == DIRECT || -n ${!name:-} ]] || export "$name=$proxy"
done

work=$(mktemp -d "${TMPDIR:-/tmp}/warploom-root.XXXXXX")
child=
cleanup() {
  trap - EXIT
  # The child is the namespace's first process: with it go all others, and with them the mounts.
  [[ -z $child ]] || { kill -KILL "$child" && wait "$child"; } 2>/dev/null || true
  # A process that is still ending may write once more.
  rm -rf --one-file-system -- "$work" 2>/dev/null || { sleep 1 && rm -rf --one-file-system -- "$work"; }
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# The tree without what is built in it: tracked files as they are now.
if git -c safe.directory='*' rev-parse >/dev/null 2>&1; then
  git -c safe.directory='*' ls-files -z | while IFS= read -r -d '' file; do [[ -e $file || -L $file ]] && printf '%s\0' "$file"; done |
    tar -c --null -T - >"$work/tree.tar"
else
  tar -c --exclude=./build . >"$work/tree.tar"
fi

# In the background, so that a signal is heard at once.
unshare --mount --propagation private --pid --fork --kill-child -- bash "$PWD/tools/fresh_root.sh" --inside "$work" "$@" <&0 &
child=$!
status=0
wait "$child" || status=$?
child=
exit "$status"
