/* The first use of operator new comes between an error of the loader's and the question what it was.
 * build: -ldl
 */
#include <dlfcn.h>

#include <string>

#include "site.h"

int main() {
    MUST(!dlopen("/nowhere/missing.so", RTLD_NOW));
    std::string text("a text that is too long to be kept without an allocation: ");
    const char *why = dlerror();
    say("%s%s", text.c_str(), why ? why : "nothing");
    return 0;
}
