/* Loads shared objects and runs what is in them. The library's signal handlers outlive dlclose, and so must their code:
   SIGURG does nothing unless it meets a handler that is gone. */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>

int main(int count, char** files) {
  for (int i = 1; i < count; ++i) {
    void* library = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
    int (*run)(void) = library != NULL ? (int (*)(void))dlsym(library, "run_plugin") : NULL;
    if (run == NULL) return printf("%s\n", dlerror()), 1;
    if (run() != 0) return printf("%s: failed\n", files[i]), 1;
    dlclose(library);
    raise(SIGURG);
  }
  printf("%d shared objects have run\n", count - 1);
  return 0;
}
