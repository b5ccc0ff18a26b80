PYTHONHASHSEED=0 /usr/bin/python3 words.py
