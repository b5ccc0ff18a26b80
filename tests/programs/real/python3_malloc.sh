PYTHONHASHSEED=0 PYTHONMALLOC=malloc /usr/bin/python3 words.py
