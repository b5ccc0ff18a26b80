"""Scripts that let bash, zsh and fish complete the words of a command line.

They hold all words themselves: no key press starts an interpreter. What follows the program behind
`run` is that program's, and completed as the shell does it elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from heapglass.cli.completion_words import CommandWords, OptionWords, all_names


def bash_script(commands: Sequence[CommandWords]) -> str:
    names = " ".join(command.name for command in commands)
    lines = [
        "# heapglass: words for bash, made by 'heapglass completion bash'",
        *_bash_program(commands),
        "_heapglass() {",
        '    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"',
        "    COMPREPLY=()",
        "    if [ $COMP_CWORD -eq 1 ]; then",
        f'        COMPREPLY=($(compgen -W "{names} help --help --version" -- "$word"))',
        "        return",
        "    fi",
        '    if [ "${COMP_WORDS[1]}" = run ]; then',
        "        local program",
        "        _heapglass_find_program",
        "        if [ $COMP_CWORD -gt $program ]; then",
        "            # Of bash-completion; without it the program's words are names of files.",
        "            declare -F _command_offset >/dev/null && _command_offset $program",
        "            return",
        "        fi",
        "        if [ $COMP_CWORD -eq $program ] && [[ $word != -* ]]; then",
        "            local IFS=$'\\n'; COMPREPLY=($(compgen -c -- \"$word\"))",
        "            return",
        "        fi",
        "    fi",
        '    case "${COMP_WORDS[1]} $before" in',
        *_bash_values(commands),
        "    esac",
        '    case "${COMP_WORDS[1]} $word" in',
        *_bash_options(commands),
        *_bash_arguments(commands),
        f'        "help "*) COMPREPLY=($(compgen -W "{names}" -- "$word")) ;;',
        "    esac",
        "}",
        "complete -o default -F _heapglass heapglass",
    ]
    return "\n".join(lines) + "\n"


def _bash_program(commands: Sequence[CommandWords]) -> Iterator[str]:
    """A function that finds where the options of `run` end; an `=` is a word of its own there."""
    yield from (
        "_heapglass_find_program() {",
        "    program=2",
        "    while [ $program -lt $COMP_CWORD ]; do",
        '        local next="${COMP_WORDS[program+1]}"',
        '        case "${COMP_WORDS[program]}" in',
        "            --) program=$((program+1)); return ;;",
        '            --*) [ "$next" = = ] && { program=$((program+3)); continue; } ;;&',
        "            --sample) [[ $next == auto || $next == [0-9]* ]] && program=$((program+1)) ;;",
        f"            {'|'.join(_value_names(commands))}|-[!-]*o) program=$((program+1)) ;;",
        "            -?*) ;;",
        "            *) return ;;",
        "        esac",
        "        program=$((program+1))",
        "    done",
        "}",
    )


def _value_names(commands: Sequence[CommandWords]) -> list[str]:
    """The options of `run` that always have a value; that of --sample may be missing."""
    (run,) = (command for command in commands if command.name == "run")
    return all_names([one for one in run.options if one.has_value and one.needs_value])


def _bash_values(commands: Sequence[CommandWords]) -> Iterator[str]:
    for command in commands:
        for option in command.options:
            if not option.has_value:
                continue
            patterns = "|".join(f'"{command.name} {name}"' for name in option.names)
            words = " ".join(option.values)
            # Without words of its own the value may be a file: bash's own completion knows.
            reply = f'COMPREPLY=($(compgen -W "{words}" -- "$word")); ' if words else ""
            yield f"        {patterns}) {reply}return ;;"


def _bash_options(commands: Sequence[CommandWords]) -> Iterator[str]:
    for command in commands:
        words = " ".join(all_names(command.options))
        yield f'        "{command.name} -"*) COMPREPLY=($(compgen -W "{words}" -- "$word")) ;;'


def _bash_arguments(commands: Sequence[CommandWords]) -> Iterator[str]:
    for command in commands:
        if command.values:
            words = " ".join(command.values)
            yield f'        "{command.name} "*) COMPREPLY=($(compgen -W "{words}" -- "$word")) ;;'


def zsh_script(commands: Sequence[CommandWords]) -> str:
    lines = [
        "#compdef heapglass",
        "# heapglass: words for zsh, made by 'heapglass completion zsh'",
        "_heapglass_program() {",
        "    # A -- that stands first is left in the words.",
        "    [[ $words[1] == -- ]] && shift words && (( CURRENT -= 1 ))",
        "    _normal",
        "}",
        "_heapglass() {",
        "    local -a subcommands  # not commands: zsh has all programs in that",
        "    subcommands=(",
        *(f"        {_quoted(f'{one.name}:{one.text}')}" for one in commands),
        "    )",
        "    if (( CURRENT == 2 )); then",
        "        _describe command subcommands",
        "        return",
        "    fi",
        "    local command=$words[2]",
        "    shift words",
        "    (( CURRENT -= 1 ))",
        "    case $command in",
        *(line for command in commands for line in _zsh_command(command)),
        "        help) _describe command subcommands ;;",
        "    esac",
        "}",
        'if [ "$funcstack[1]" = _heapglass ]; then _heapglass "$@"',
        "else compdef _heapglass heapglass; fi",
    ]
    return "\n".join(lines) + "\n"


def _zsh_command(command: CommandWords) -> Iterator[str]:
    yield f"        {command.name})"
    # The first word that is no option ends those of `run`, as -- does.
    ending = "-S -A '-*' " if command.name == "run" else ""
    yield f"            _arguments {ending}\\"
    for option in command.options:
        for name in option.names:
            yield f"                {_quoted(_zsh_option(name, option))} \\"
    if command.name == "run":
        yield "                '*::program:_heapglass_program' ;;"
    elif command.values:
        words = " ".join(command.values)
        yield f"                {_quoted(f'*:value:({words})')} ;;"
    else:
        yield "                '*:file:_files' ;;"


def _zsh_option(name: str, option: OptionWords) -> str:
    """`*` lets it be given several times."""
    text = option.text.replace("\\", "").replace("[", "(").replace("]", ")").replace(":", " ")
    if not option.has_value:
        return f"*{name}[{text}]"
    values = f"({' '.join(option.values)})" if option.values else "_files"
    return f"*{name}[{text}]:value:{values}"


def fish_script(commands: Sequence[CommandWords]) -> str:
    lines = [
        "# heapglass: words for fish, made by 'heapglass completion fish'",
        "complete -c heapglass -e",
        *_fish_functions(commands),
        *(
            "complete -c heapglass -n __fish_use_subcommand -f"
            f" -a {one.name} -d {_quoted(one.text)}"
            for one in commands
        ),
        *(line for command in commands for line in _fish_command(command)),
    ]
    return "\n".join(lines) + "\n"


def _fish_functions(commands: Sequence[CommandWords]) -> Iterator[str]:
    """Functions that say which command it is, which words behind `run` are the program's (and
    whether its options have ended), and what that program takes."""
    yield from (
        "function __heapglass_is",
        "    set -l words (commandline -opc)",
        '    test "$words[2]" = $argv[1]',
        "end",
        "function __heapglass_program",
        "    set -l words (commandline -opc)",
        "    set -e words[1 2]",
        "    while set -q words[1]; and string match -q -- '-?*' $words[1]",
        "        set -l option $words[1]",
        "        set -e words[1]",
        "        if test $option = --",
        "            printf '%s\\n' $words",
        "            return 0",
        f"        else if contains -- $option {' '.join(_value_names(commands))}",
        "            set -e words[1]",
        "        else if string match -qr '^-[^-]+o$' -- $option",
        "            set -e words[1]",
        "        else if test $option = --sample",
        "            string match -qr '^(auto|[0-9].*)$' -- $words[1]; and set -e words[1]",
        "        end",
        "    end",
        "    set -q words[1]; and printf '%s\\n' $words",
        "end",
        "function __heapglass_complete_program",
        "    set -l words (__heapglass_program)",
        "    or not string match -q -- '-*' (commandline -ct)",
        "    and __fish_complete_subcommand --commandline $words (commandline -ct)",
        "end",
    )


def _fish_command(command: CommandWords) -> Iterator[str]:
    is_run = command.name == "run"
    condition = f"__heapglass_is {command.name}"
    ending = "; and not __heapglass_program >/dev/null" if is_run else ""
    start = f"complete -c heapglass -n '{condition}{ending}'"
    for option in command.options:
        names = " ".join(
            f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names
        )
        value = ""
        if option.has_value and option.needs_value:
            value = f" -x -a {_quoted(' '.join(option.values))}" if option.values else " -r"
        yield f"{start} {names}{value} -d {_quoted(option.text)}"
    if command.values:
        yield f"{start} -f -a {_quoted(' '.join(command.values))}"
    if is_run:
        yield f"complete -c heapglass -n '{condition}' -f -a '(__heapglass_complete_program)'"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "") + "'"


SCRIPTS = {"bash": bash_script, "zsh": zsh_script, "fish": fish_script}
