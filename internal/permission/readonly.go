package permission

import (
	"path"
	"slices"
	"strings"
)

// readOnly reports a simple command that changes nothing and reads only inside
// the working directories. It knows programs by a grammar of their arguments;
// whatever it does not know is not read-only.
func (c *call) readOnly(cmd *command) bool {
	words, ok := readOnlyShape(cmd)
	if !ok {
		return false
	}
	for _, r := range cmd.redirs {
		if r.reads() && !c.mayRead(cmd, r.target) {
			return false
		}
	}
	return len(words) == 0 || c.readsInside(cmd, words[0].text, words[1:])
}

// readOnlyShape reports a simple command that changes nothing, and returns its
// words without harmless wrappers. No words: an assignment or a redirection.
func readOnlyShape(cmd *command) ([]word, bool) {
	if !safeAssigns(cmd.assigns) || slices.ContainsFunc(cmd.redirs, redirect.writes) {
		return nil, false
	}
	if len(cmd.words) == 0 {
		return nil, true
	}
	words, assigns := strip(cmd.words)
	if !safeAssigns(assigns) || len(words) == 0 || !words[0].fixed() || words[0].quoted || len(words) < len(cmd.words) && cmd.words[0].text == "xargs" {
		return nil, false
	}
	name, args := words[0].text, words[1:]
	if slices.ContainsFunc(args, func(w word) bool { return !plainArgument(name, w) }) {
		return nil, false
	}
	return words, anyOptions(name) || readsOnly(name, args)
}

// plainArgument reports a word that is certain, or that can only become
// operands: a wildcard at its start may turn into an option.
func plainArgument(name string, w word) bool {
	switch {
	case w.brace:
		return false
	case !w.lit:
		return harmlessValue(w.src) || !w.vars && !w.glob && (name == "echo" || name == "printf")
	case !w.glob:
		return true
	}
	return strings.IndexAny(w.text, "*?[") > 0 && w.text[0] != '-' || anyOptions(name)
}

// harmlessValue names the variables whose value is neither secret nor a path.
func harmlessValue(src string) bool {
	switch strings.Trim(src, `"`) {
	case "$?", "$#", "$$", "$!", "$PWD", "$USER", "$HOME", "$SHELL", "$LANG", "${PWD}", "${USER}", "${HOME}":
		return true
	}
	return false
}

// anyOptions names programs that have no option which writes a file or starts
// a program.
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

// readsOnly is the grammar: which arguments keep which program read-only.
func readsOnly(name string, args []word) bool {
	switch name {
	case "diff":
		return !hasOption(args, "l", "paginate")
	case "test", "[":
		return !slices.ContainsFunc(args, func(w word) bool {
			return w.text == "-v" || w.text == "-R" || strings.Contains(w.text, "[") && len(w.text) > 1
		})
	case "printf":
		return len(args) > 0 && !strings.HasPrefix(args[0].text, "-")
	case "uniq":
		return len(operandsOf(append([]word{{}}, args...))) <= 1
	case "sort":
		return !hasOption(args, "oT", "output", "compress-program", "temporary-directory", "files0-from")
	case "file":
		return !hasOption(args, "Cmzf", "compile", "magic-file", "uncompress", "files-from")
	case "tree":
		return !hasOption(args, "oR", "output")
	case "rg":
		return !hasOption(args, "zf", "pre", "pre-glob", "search-zip", "hostname-bin", "file")
	}
	return readsOnlyToo(name, args)
}

// readsOnlyToo holds the programs with a grammar of their own.
func readsOnlyToo(name string, args []word) bool {
	switch name {
	case "find":
		return !slices.ContainsFunc(args, func(w word) bool { return actsInFind(w.text) || w.glob })
	case "sed":
		return printsOnly(args)
	case "git":
		return gitReads(args)
	case "date":
		return all(args, func(t string) bool {
			return strings.HasPrefix(t, "+") || contains([]string{"-u", "-I", "-R", "--utc", "--iso-8601"}, t)
		})
	case "hostname":
		return len(args) == 0
	case "ps":
		return all(args, func(t string) bool { return contains([]string{"aux", "-e", "-f", "-ef", "-A", "-aux"}, t) })
	case "command":
		return len(args) > 0 && (args[0].text == "-v" || args[0].text == "-V")
	case "go":
		return len(args) > 0 && (args[0].text == "version" && len(args) == 1)
	case "node", "npm", "python", "python3", "cargo", "rustc":
		return len(args) == 1 && args[0].text == "--version"
	}
	return false
}

func all(args []word, ok func(string) bool) bool {
	return !slices.ContainsFunc(args, func(w word) bool { return !ok(w.text) })
}

// hasOption looks for short letters in clusters and for long options in any
// abbreviation, which GNU programs accept.
func hasOption(args []word, letters string, longs ...string) bool {
	for _, w := range args {
		t := w.text
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

// actsInFind names the primaries of find that do more than select and print.
func actsInFind(t string) bool {
	switch t {
	case "-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls", "-files0-from":
		return true
	}
	return false
}

// printsOnly accepts sed with a script that selects lines or substitutes.
func printsOnly(args []word) bool {
	scripts := 0
	expectScript := false
	for _, w := range args {
		t := w.text
		switch {
		case expectScript:
			expectScript = false
			scripts++
			if !sedScript(t) {
				return false
			}
		case contains([]string{"-n", "-E", "-r", "-s", "-u", "-z", "--quiet", "--silent", "--posix", "--debug"}, t):
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

// sedScript accepts addresses followed by p, d, q or =, and s with a slash and
// harmless flags, separated by semicolons. No braces, files or commands.
func sedScript(s string) bool {
	for part := range strings.SplitSeq(s, ";") {
		part = strings.TrimSpace(part)
		part = strings.TrimLeft(part, "0123456789,$~+ ")
		part = strings.TrimPrefix(part, "!")
		if strings.ContainsAny(part, "\n\\") {
			return false
		}
		switch {
		case contains([]string{"", "p", "d", "q", "="}, part):
		case strings.HasPrefix(part, "s/"):
			f := strings.Split(part[2:], "/")
			if len(f) != 3 || strings.Trim(f[2], "gpIi0123456789") != "" {
				return false
			}
		case strings.HasPrefix(part, "/"):
			f := strings.Split(part[1:], "/")
			if len(f) != 2 || !contains([]string{"p", "d", "q", "="}, strings.TrimPrefix(f[1], "!")) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// readsInside reports whether every path a program is given lies in a working
// directory, and whether it runs in one.
func (c *call) readsInside(cmd *command, name string, args []word) bool {
	if len(cmd.cwds) == 0 || slices.ContainsFunc(cmd.cwds, func(d string) bool { return !c.inside(d) }) {
		return !usesDirectory(name)
	}
	switch name {
	case "echo", "printf", "seq", "basename", "dirname", "tr", "true", "false", ":", "test", "[", "which", "type", "command", "date", "sleep":
		return true
	case "cd":
		args = cdOperands(args)
		return len(args) == 1 && c.every(cmd, args[0], c.inside)
	case "grep", "egrep", "fgrep", "rg", "sed", "jq":
		args = afterPattern(args)
	}
	return !slices.ContainsFunc(args, func(w word) bool { return !c.argumentInside(cmd, w) })
}

// usesDirectory reports programs that read files when nothing names one.
func usesDirectory(name string) bool {
	switch name {
	case "echo", "printf", "seq", "tr", "true", "false", ":", "whoami", "id", "date", "sleep", "uname", "nproc", "uptime", "which", "type":
		return false
	}
	return true
}

// afterPattern drops the first operand, which is a pattern and not a path,
// unless an option brings the pattern.
func afterPattern(args []word) []word {
	if hasOption(args, "ef", "regexp", "expression", "file") {
		return args
	}
	for i, w := range args {
		if !strings.HasPrefix(w.text, "-") {
			return slices.Concat(args[:i], args[i+1:])
		}
	}
	return args
}

// argumentInside judges the part of an argument that may be a path. A path with
// a wildcard is judged by the directory before it.
func (c *call) argumentInside(cmd *command, w word) bool {
	t := operand(w).text
	if !w.lit {
		return true // harmlessValue
	}
	if strings.HasPrefix(w.text, "-") && t == w.text {
		if i := strings.IndexByte(t, '/'); i >= 0 {
			t = t[i:] // a short option joined with its value
		}
	}
	if w.glob {
		if strings.Contains(t, "..") || c.judgesPaths() {
			return false
		}
		t = path.Dir(t[:strings.IndexAny(t+"*", "*?[")] + "x")
	}
	if t == "" || t == "-" || harmlessDevice(word{text: t, lit: true}) {
		return true
	}
	if strings.HasPrefix(t, "//") {
		t = path.Clean(t)
	}
	for _, p := range c.paths(cmd, word{text: t, lit: true}) {
		if !c.inside(p) {
			return false
		}
	}
	return true
}

// judgesPaths reports deny or ask rules about single files, which a wildcard
// might reach.
func (c *call) judgesPaths() bool {
	scoped := func(r Rule) bool { return (r.Tool == "Read" || r.Tool == "Edit") && !r.bare() }
	return slices.ContainsFunc(c.p.Deny, scoped) || slices.ContainsFunc(c.p.Ask, scoped)
}
