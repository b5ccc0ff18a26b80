gcc -O2 -g -ffile-prefix-map="$PWD"=. -c program.c -o program.o && gcc program.o -o program && ./program
