/* A plugin whose constructor waits for a thread that uses operator new for the first time: the loader's lock
 * is taken meanwhile.
 * build: -shared -fPIC -pthread
 */
#include <thread>

#include "site.h"

static struct Waiting {
    Waiting() {
        std::thread([] {
            int *volatile p = new int[10];
            delete[] p;
        }).join();
    }
} g_waiting;

extern "C" void go() { say("loaded"); }
