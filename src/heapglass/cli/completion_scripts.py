"""Scripts that let bash, zsh and fish complete the words of a command line.

They hold all words themselves: no key press starts an interpreter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from heapglass.cli.completion_words import CommandWords, OptionWords, all_names


def bash_script(commands: Sequence[CommandWords]) -> str:
    names = " ".join(command.name for command in commands)
    lines = [
        "# heapglass: words for bash, made by 'heapglass completion bash'",
        "_heapglass() {",
        '    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"',
        "    COMPREPLY=()",
        "    if [ $COMP_CWORD -eq 1 ]; then",
        f'        COMPREPLY=($(compgen -W "{names} help --help --version" -- "$word"))',
        "        return",
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
        "_heapglass() {",
        "    local -a commands",
        "    commands=(",
        *(f"        {_quoted(f'{one.name}:{one.text}')}" for one in commands),
        "    )",
        "    if (( CURRENT == 2 )); then",
        "        _describe command commands",
        "        return",
        "    fi",
        "    local command=$words[2]",
        "    shift words",
        "    (( CURRENT -= 1 ))",
        "    case $command in",
        *(line for command in commands for line in _zsh_command(command)),
        "        help) _describe command commands ;;",
        "    esac",
        "}",
        'if [ "$funcstack[1]" = _heapglass ]; then _heapglass "$@"',
        "else compdef _heapglass heapglass; fi",
    ]
    return "\n".join(lines) + "\n"


def _zsh_command(command: CommandWords) -> Iterator[str]:
    yield f"        {command.name})"
    yield "            _arguments \\"
    for option in command.options:
        for name in option.names:
            yield f"                {_quoted(_zsh_option(name, option))} \\"
    if command.name == "run":
        yield "                '*::command:_normal' ;;"
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
        *(
            "complete -c heapglass -n __fish_use_subcommand -f"
            f" -a {one.name} -d {_quoted(one.text)}"
            for one in commands
        ),
        *(line for command in commands for line in _fish_command(command)),
    ]
    return "\n".join(lines) + "\n"


def _fish_command(command: CommandWords) -> Iterator[str]:
    start = f"complete -c heapglass -n '__fish_seen_subcommand_from {command.name}'"
    for option in command.options:
        names = " ".join(
            f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names
        )
        value = ""
        if option.has_value:
            value = f" -x -a {_quoted(' '.join(option.values))}" if option.values else " -r"
        yield f"{start} {names}{value} -d {_quoted(option.text)}"
    if command.values:
        yield f"{start} -f -a {_quoted(' '.join(command.values))}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "") + "'"


SCRIPTS = {"bash": bash_script, "zsh": zsh_script, "fish": fish_script}
