"""Replaces names by words that say nothing, the same name always by the same word.

Only what belongs to nobody stays: keywords, the C and C++ runtimes, namespace std, the headers of
standard libraries, and the usual directories. So a stack still reads, and the frame that answers
for an allocation is still the same. A word is a hash with a key; the key is random unless it is
given, so that nobody can try names out, and two recordings of one program only compare if they were
packed with the same key.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from base64 import b32encode
from functools import lru_cache

from heapglass.analysis.plumbing import Plumbing
from heapglass.model import Frame

KEPT_WORDS = frozenset(
    """
    alignas alignof and auto bool char char8_t char16_t char32_t class clone cold const constexpr
    decltype double enum explicit extern false float friend inline int long main mutable namespace
    noexcept not nullptr operator or private protected public register requires restrict short
    signed sizeof static struct template this throw true typedef typename union unsigned using
    virtual void volatile wchar_t anonymous lambda type unnamed vtable thunk to for non guard
    variable delete new co_await isra part constprop lto_priv plt __int128 _Float128
    as async await crate dyn fn impl mod move mut ref self Self super trait u8 u16 u32 u64 u128
    usize i8 i16 i32 i64 i128 isize f32 f64 str closure shim
    """.split()
)
PUBLIC_ROOTS = frozenset({"std", "__gnu_cxx", "__cxxabiv1", "core", "alloc"})
KEPT_DIRECTORIES = frozenset(
    """
    usr lib lib32 lib64 bin sbin include share local opt home root tmp var src build
    x86_64-linux-gnu . ..
    """.split()
)
EXTENSION = re.compile(
    r"(\.(so(\.\d+)*|[chCH]|cc|cpp|cxx|hh|hpp|hxx|ipp|inl|tcc|rs|py|pyx|go|f90|[sS]|asm|d|cu))$"
)
PUBLIC_SOURCE = re.compile(
    r"/(include/c\+\+|libstdc\+\+-v3|rustc/[0-9a-f]+/library|rustlib/src)/.*"
)
TOKEN = re.compile(
    r"operator\s*(?:<=>|->\*?|<<=?|>>=?|<=|>=|\(\)|\[\]|<|>)?|[^\W\d][\w$]*|::|->|\W|\d[\w.]*"
)
IDENTIFIER = re.compile(r"[^\W\d]\w*")
OPENING, CLOSING, SCOPE = "<([{", ">)]}", "::"
WORD_BYTES = 5


class Redactor:
    def __init__(self, key: str = "") -> None:
        """Without `key` another one each time."""
        secret = key.encode("utf-8", "surrogateescape") if key else secrets.token_bytes(32)
        self._key = hashlib.sha256(secret).digest()
        self._plumbing = Plumbing()
        self.word = lru_cache(maxsize=1 << 18)(self._word)

    def _word(self, name: str) -> str:
        """Nine letters and digits, the first one an x."""
        digest = hashlib.blake2b(
            name.encode("utf-8", "surrogateescape"), key=self._key, digest_size=WORD_BYTES
        ).digest()
        return "x" + b32encode(digest).decode().lower()

    def scramble(self, data: bytes) -> bytes:
        """Other bytes of the same length, for identifiers that are no names."""
        return hashlib.shake_256(self._key + data).digest(len(data))

    # ---- functions

    def function(self, frame: Frame) -> str:
        return self._tokens(frame.function, is_public=self._plumbing.covers(frame))

    def _tokens(self, name: str, *, is_public: bool) -> str:
        """Identifiers one by one. Those of a qualified name share its fate: `std::vector<T>::at`
        stays but for T."""
        kept, outer = [], list[bool]()
        is_kept, before = is_public, ""
        for part in TOKEN.findall(name):
            if part in OPENING:
                outer.append(is_kept)
                is_kept = False
            elif part in CLOSING:
                is_kept = outer.pop() if outer else False
            elif part.isspace() or part == ",":
                is_kept = is_public and not outer
            elif _is_identifier(part) and before != SCOPE:
                is_kept = part in PUBLIC_ROOTS or (is_public and not outer)
            is_replaced = _is_identifier(part) and not is_kept and not _is_kept_word(part)
            kept.append(self.word(part) if is_replaced else part)
            before = part
        return "".join(kept)

    # ---- paths

    def source(self, frame: Frame) -> str:
        return frame.file if self.is_public_module(frame.module) else self.path(frame.file)

    def path(self, path: str) -> str:
        """Directories, then the file's name without its extension, each by itself."""
        public = PUBLIC_SOURCE.search(path)
        if public:
            return self.path(path[: public.start()]) + public.group()
        *directories, name = path.split("/")
        kept = [d if d in KEPT_DIRECTORIES or not d else self.word(d) for d in directories]
        return "/".join((*kept, self._file_name(name)))

    def _file_name(self, name: str) -> str:
        if self.is_public_module(name) or name in KEPT_DIRECTORIES or not name:
            return name
        extension = EXTENSION.search(name)
        stem = name[: extension.start()] if extension else name
        end = extension.group() if extension else ""
        if stem.startswith("lib") and len(stem) > 3 and end.startswith(".so"):
            return f"lib{self.word(stem[3:])}{end}"
        return self.word(stem) + end

    def is_public_module(self, path: str) -> bool:
        name = os.path.basename(path)
        return self._plumbing.covers(Frame("", "", 0, name, 0, 0)) or "vdso" in name

    # ---- the process

    def argument(self, text: str) -> str:
        return self.word(text) if text else text

    def option(self, text: str) -> str:
        """HEAPGLASS_NAME=value: a value that is more than a number may be a path."""
        name, equals, value = text.partition("=")
        is_plain = re.fullmatch(r"[\d.]*[kMGT%]?|auto", value)
        return f"{name}{equals}{value if is_plain else self.word(value)}"

    def thread(self, name: str) -> str:
        """Numbers between words stay: they tell the threads of a pool apart."""
        return IDENTIFIER.sub(lambda match: self.word(match.group()), name)


def _is_identifier(part: str) -> bool:
    return part[0].isalpha() or part[0] in "_$"


def _is_kept_word(part: str) -> bool:
    return part in KEPT_WORDS or part.startswith("operator")
