/* Something small to compile. */
#include <stdio.h>

struct point {
    double x, y;
};

static double norm(struct point p) { return p.x * p.x + p.y * p.y; }

int main(int argc, char **argv) {
    struct point p = {argc, 2};
    printf("%f %s\n", norm(p), *argv);
}
