package shell

import (
	"slices"
	"strings"
)

// ReadOnly reports whether a simple command changes nothing, and returns its words
// without transparent wrappers. It returns no words for an assignment or a redirection.
func ReadOnly(cmd *Command) ([]Word, bool) {
	if !SafeAssigns(cmd.Assigns) || slices.ContainsFunc(cmd.Redirects, Redirect.Writes) {
		return nil, false
	}
	if len(cmd.Words) == 0 {
		return nil, true
	}
	words, assigns := Strip(cmd.Words)
	if !SafeAssigns(assigns) || len(words) == 0 || !words[0].Fixed() || words[0].quoted || len(words) < len(cmd.Words) && cmd.Words[0].Text == "xargs" {
		return nil, false
	}
	name, args := words[0].Text, words[1:]
	if slices.ContainsFunc(args, func(w Word) bool { return !plainArgument(name, w) }) {
		return nil, false
	}
	return words, anyOptions(name) || readsOnly(name, args)
}

// plainArgument reports whether w is certain or can only become operands. A wildcard at
// its start may become an option.
func plainArgument(name string, w Word) bool {
	switch {
	case w.brace:
		return false
	case !w.Literal:
		return harmlessValue(w.Source) || !w.variable && !w.Glob && (name == "echo" || name == "printf")
	case !w.Glob:
		return true
	}
	return strings.IndexAny(w.Text, "*?[") > 0 && w.Text[0] != '-' || anyOptions(name)
}

// harmlessValue reports variables whose value is neither secret nor a path.
func harmlessValue(src string) bool {
	switch strings.Trim(src, `"`) {
	case "$?", "$#", "$$", "$!", "$PWD", "$USER", "$HOME", "$SHELL", "$LANG", "${PWD}", "${USER}", "${HOME}":
		return true
	}
	return false
}

// anyOptions reports programs that have no option which writes a file or starts a
// program.
func anyOptions(name string) bool {
	switch name {
	case "ls", "cat", "echo", "pwd", "head", "tail", "wc", "which", "stat", "du", "df", "basename", "dirname", "true", "false", ":",
		"id", "whoami", "groups", "uname", "nproc", "uptime", "cmp", "comm", "cut", "paste", "tr", "nl", "tac", "rev", "fold",
		"expand", "unexpand", "md5sum", "sha1sum", "sha256sum", "sha512sum", "cksum", "readlink", "realpath", "seq", "type", "cd",
		"grep", "egrep", "fgrep", "strings", "od", "hexdump", "jq", "arch", "locale", "column", "sleep":
		return true
	}
	return false
}

// readsOnly reports whether args keep the program read-only.
func readsOnly(name string, args []Word) bool {
	switch name {
	case "diff":
		return !hasOption(args, "l", "paginate")
	case "test", "[":
		return !slices.ContainsFunc(args, func(w Word) bool {
			return w.Text == "-v" || w.Text == "-R" || strings.Contains(w.Text, "[") && len(w.Text) > 1
		})
	case "printf":
		return len(args) > 0 && !strings.HasPrefix(args[0].Text, "-")
	case "uniq":
		return len(Operands(append([]Word{{}}, args...))) <= 1
	case "sort":
		return !hasOption(args, "oT", "output", "compress-program", "temporary-directory", "files0-from")
	case "file":
		return !hasOption(args, "Cmzf", "compile", "magic-file", "uncompress", "files-from")
	case "tree":
		return !hasOption(args, "oR", "output")
	case "rg":
		return !hasOption(args, "zf", "pre", "pre-glob", "search-zip", "hostname-bin", "file")
	}
	return readsOnlyByGrammar(name, args)
}

// readsOnlyByGrammar is readsOnly for programs whose arguments have a grammar of their
// own.
func readsOnlyByGrammar(name string, args []Word) bool {
	switch name {
	case "find":
		return !slices.ContainsFunc(args, func(w Word) bool { return findActs(w.Text) || w.Glob })
	case "sed":
		return SedPrints(args)
	case "git":
		return gitReads(args)
	case "date":
		return allWords(args, func(t string) bool {
			return strings.HasPrefix(t, "+") || slices.Contains([]string{"-u", "-I", "-R", "--utc", "--iso-8601"}, t)
		})
	case "hostname":
		return len(args) == 0
	case "ps":
		return allWords(args, func(t string) bool { return slices.Contains([]string{"aux", "-e", "-f", "-ef", "-A", "-aux"}, t) })
	case "command":
		return len(args) > 0 && (args[0].Text == "-v" || args[0].Text == "-V")
	case "go":
		return len(args) > 0 && (args[0].Text == "version" && len(args) == 1)
	case "node", "npm", "python", "python3", "cargo", "rustc":
		return len(args) == 1 && args[0].Text == "--version"
	}
	return false
}

func allWords(args []Word, ok func(string) bool) bool {
	return !slices.ContainsFunc(args, func(w Word) bool { return !ok(w.Text) })
}

// hasOption reports whether args contain one of the letters, also in a cluster, or one
// of the long options in any abbreviation, which GNU programs accept.
func hasOption(args []Word, letters string, longs ...string) bool {
	for _, w := range args {
		t := w.Text
		if t == "--" {
			return false
		}
		if name, ok := strings.CutPrefix(t, "--"); ok {
			name, _, _ = strings.Cut(name, "=")
			if slices.ContainsFunc(longs, func(l string) bool { return name != "" && strings.HasPrefix(l, name) }) {
				return true
			}
			continue
		}
		if strings.HasPrefix(t, "-") && strings.ContainsAny(t[1:], letters) {
			return true
		}
	}
	return false
}

// findActs reports primaries of find that do more than select and print.
func findActs(t string) bool {
	switch t {
	case "-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls", "-files0-from":
		return true
	}
	return false
}

// SedPrints accepts sed with a script that selects lines or substitutes.
func SedPrints(args []Word) bool {
	scripts := 0
	expectScript := false
	for _, w := range args {
		t := w.Text
		switch {
		case expectScript:
			expectScript = false
			scripts++
			if !sedScript(t) {
				return false
			}
		case slices.Contains([]string{"-n", "-E", "-r", "-s", "-u", "-z", "--quiet", "--silent", "--posix", "--debug"}, t):
		case t == "-e" || t == "--expression" || t == "-ne" || t == "-nE":
			expectScript = t == "-e" || t == "--expression" || t == "-ne"
		case strings.HasPrefix(t, "-") && t != "-":
			return false
		case scripts == 0:
			scripts++
			if !sedScript(t) {
				return false
			}
		}
	}
	return scripts > 0 && !expectScript
}

// sedScript accepts addresses followed by p, d, q or =, and s with a slash and harmless
// flags, separated by semicolons. It accepts no braces, files or commands.
func sedScript(s string) bool {
	for part := range strings.SplitSeq(s, ";") {
		part = strings.TrimSpace(part)
		part = strings.TrimLeft(part, "0123456789,$~+ ")
		part = strings.TrimPrefix(part, "!")
		if strings.ContainsAny(part, "\n\\") {
			return false
		}
		switch {
		case slices.Contains([]string{"", "p", "d", "q", "="}, part):
		case strings.HasPrefix(part, "s/"):
			f := strings.Split(part[2:], "/")
			if len(f) != 3 || strings.Trim(f[2], "gpIi0123456789") != "" {
				return false
			}
		case strings.HasPrefix(part, "/"):
			f := strings.Split(part[1:], "/")
			if len(f) != 2 || !slices.Contains([]string{"p", "d", "q", "="}, strings.TrimPrefix(f[1], "!")) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// ReadsDirectory reports programs that read files although no argument names one.
func ReadsDirectory(name string) bool {
	switch name {
	case "echo", "printf", "seq", "tr", "true", "false", ":", "whoami", "id", "date", "sleep", "uname", "nproc", "uptime", "which", "type":
		return false
	}
	return true
}

// AfterPattern removes the first operand, which is a pattern and not a path, unless an
// option gives the pattern.
func AfterPattern(args []Word) []Word {
	if hasOption(args, "ef", "regexp", "expression", "file") {
		return args
	}
	for i, w := range args {
		if !strings.HasPrefix(w.Text, "-") {
			return slices.Concat(args[:i], args[i+1:])
		}
	}
	return args
}
