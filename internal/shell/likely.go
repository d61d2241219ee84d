package shell

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// LikelyReads reports whether a command of a text probably changes nothing that lasts. It
// may be wrong: whoever goes by it holds the command to reading.
func LikelyReads(cmd *Command, text string) bool {
	if slices.ContainsFunc(cmd.Redirects, Redirect.Writes) {
		return false
	}
	if len(cmd.Words) == 0 {
		return !slices.ContainsFunc(cmd.Assigns, func(a Assign) bool { return steers(a.Name) })
	}
	return SafeAssigns(cmd.Assigns) && likelyReads(cmd.Words, text)
}

// steers reports variables that change which programs run, or how they do.
func steers(name string) bool {
	switch name {
	case "PATH", "IFS", "CDPATH", "HOME", "ENV", "BASH_ENV", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND", "PAGER", "EDITOR":
		return true
	}
	return slices.ContainsFunc([]string{"LD_", "DYLD_", "GIT_", "PYTHON", "NODE_", "PERL", "RUBY", "BASH_FUNC_"}, func(p string) bool { return strings.HasPrefix(name, p) })
}

func likelyReads(words []Word, text string) bool {
	if !words[0].Fixed() || words[0].quoted || strings.Contains(words[0].Text, "/") {
		return false
	}
	name, args := words[0].Text, words[1:]
	switch name {
	case "timeout", "time", "nice", "nohup", "stdbuf", "xargs":
		inner := wrapped(words)
		return len(inner) > 0 && likelyReads(inner, text)
	case "env":
		return len(args) == 0
	case "printenv":
		return true
	case "find":
		return findReads(args, text)
	case "sed":
		return SedPrints(args) || sedLikelyPrints(args)
	case "git":
		return gitReads(args) || gitLikelyReads(args)
	}
	if len(args) == 1 && asksForVersion(args[0].Text) {
		return true
	}
	if readsText(name, args) {
		return !actsIn(text)
	}
	return anyOptions(name) || readsOnly(name, args) || readsLikely(name, args)
}

// wrapped returns the command that a wrapper runs.
func wrapped(words []Word) []Word {
	w, _ := wrapperOf(words[0].Text)
	inner, _, plain := w.unwrap(words)
	if words[0].Text == "xargs" {
		plain = !slices.ContainsFunc(words[1:len(words)-len(inner)], func(w Word) bool {
			return strings.HasPrefix(w.Text, "-a") || strings.HasPrefix(w.Text, "--arg-file")
		})
		if len(inner) == 0 {
			inner = []Word{Literal("echo")}
		}
	}
	if !plain {
		return nil
	}
	return inner
}

// asksForVersion reports an argument with which, alone, a program says what it is.
func asksForVersion(arg string) bool {
	return slices.Contains([]string{"--version", "-version", "--help", "version", "-V", "-v"}, arg)
}

// findReads reports whether find selects and prints, and runs only what reads.
func findReads(args []Word, text string) bool {
	for i := 0; i < len(args); i++ {
		switch args[i].Text {
		case "-exec", "-execdir":
			end := i + 1
			for end < len(args) && args[end].Text != ";" && args[end].Text != "+" {
				end++
			}
			if end == i+1 || !likelyReads(args[i+1:end], text) {
				return false
			}
			i = end
		default:
			if findActs(args[i].Text) {
				return false
			}
		}
	}
	return true
}

// sedLikelyPrints accepts sed with scripts of addresses, p, d, q, = and substitutions.
func sedLikelyPrints(args []Word) bool {
	scripts := 0
	for i := 0; i < len(args); i++ {
		t := args[i].Text
		switch {
		case slices.Contains([]string{"-n", "-E", "-r", "-s", "-u", "-z", "-nE", "-En", "-nr", "--quiet"}, t):
		case strings.HasPrefix(t, "-") && strings.HasSuffix(t, "e") && strings.Trim(t, "-nEre") == "" && i+1 < len(args):
			if i++; !sedParts.MatchString(args[i].Text) {
				return false
			}
			scripts++
		case strings.HasPrefix(t, "-") && t != "-":
			return false
		case scripts == 0:
			if scripts++; !sedParts.MatchString(t) {
				return false
			}
		}
	}
	return scripts > 0
}

var sedParts = func() *regexp.Regexp {
	of := func(delimiter string) string { return `([^` + delimiter + `\\\n]|\\.)*` }
	address := `(\d+|\$|/` + of("/") + `/I?)`
	var substitutions []string
	for _, d := range []string{"/", "|", "#", ",", "@", ":", "%"} {
		substitutions = append(substitutions, `s`+regexp.QuoteMeta(d)+of(d)+regexp.QuoteMeta(d)+of(d)+regexp.QuoteMeta(d)+`[gpIi0-9]*`)
	}
	part := `\s*(` + address + `(,(` + address + `|[+~]\d+))?\s*!?)?\s*([pdq=]|` + strings.Join(substitutions, "|") + `)?\s*`
	return regexp.MustCompile(`^` + part + `([;\n]` + part + `)*$`)
}()

// readsText reports an interpreter whose program is in the command.
func readsText(name string, args []Word) bool {
	if len(args) == 0 {
		return false
	}
	first := args[0].Text
	switch name {
	case "awk", "gawk", "mawk", "nawk":
		return !hasOption(args[:1], "fiE", "file", "include", "exec")
	case "python", "python3":
		return first == "-c" || first == "-" || first == "-m" && len(args) > 1 && pythonModuleReads(args[1].Text, args[2:])
	case "node":
		return slices.Contains([]string{"-e", "-p", "--eval", "--print", "--check", "-c"}, first)
	case "ruby":
		return first == "-e" || first == "-c"
	case "perl":
		return slices.Contains([]string{"-e", "-ne", "-pe", "-lne", "-nle", "-lane", "-ple", "-0777ne", "-c"}, first)
	case "php":
		return first == "-r" || first == "-l"
	}
	return false
}

func pythonModuleReads(module string, args []Word) bool {
	switch module {
	case "json.tool":
		return len(Operands(append([]Word{{}}, args...))) <= 1
	case "pip":
		return readsLikely("pip", args)
	case "pyflakes", "ast", "tokenize", "platform", "site", "sysconfig", "calendar":
		return true
	}
	return false
}

// actsIn reports text in which a program seems to write, to run others or to connect.
func actsIn(text string) bool { return acting.MatchString(text) }

var acting = regexp.MustCompile(`(?i)\b(write\w*|append\w*file\w*|exec[lv]\w*|spawn\w*|system|popen\w*|subprocess|child_process|unlink\w*|remove\w*|rm\w*|rename\w*|mkdir\w*|makedirs|mkstemp|touch|` +
	`chmod|chown|u?time|link|symlink\w*|truncate\w*|copy\w*|move|shutil|socket\w*|urllib\w*|requests|https?|net|fetch|kill|fork|save\w*|to_csv|to_json|to_sql|install|connect\w*|inplace)\b` +
	`|\bopen\w*\([^)]*,\s*(mode\s*=\s*)?["'][^"']*[wax+]|\b(print|printf|say)\b[^|;}]*>\s*["$]|\|&?\s*(["]|getline)|\bexec\w*\s*\(|\bexec\s+["']|\bdump\([^)]*,|\bopen\([^)]*\bwb?\b|%x[\[({]|\bopen\b[^;]*["'][+>|]`)

// readsLikely knows programs that mostly read, and those that do with the right words.
func readsLikely(name string, args []Word) bool {
	switch name {
	case "less", "more", "zcat", "bzcat", "xzcat", "base64", "base32", "bc", "expr", "fmt", "pr", "join", "tsort", "getconf", "free", "lscpu", "lsblk", "lsof", "pgrep", "pidof",
		"netstat", "who", "w", "ulimit", "umask", "shellcheck", "hadolint", "yamllint", "ag", "ack", "cloc", "tokei", "scc", "nm", "objdump", "readelf", "size", "zipinfo", "zgrep",
		"read", "mapfile", "readarray", "break", "continue", "return", "exit", "shift", "unset", "wait", "times", "ps", "vmstat", "tty", "numfmt", "factor", "apt-cache", "flake8", "pylint", "mypy", "pyright":
		return true
	case "set":
		return len(args) > 0 && allWords(args, func(t string) bool { return strings.HasPrefix(t, "-") || strings.HasPrefix(t, "+") || t == "pipefail" }) && args[0].Text != "--"
	case "shopt":
		return true
	case "date":
		return !hasOption(args, "s", "set")
	case "ss":
		return !hasOption(args, "K", "kill")
	case "shuf", "xmllint":
		return !hasOption(args, "o", "output", "c14n-output")
	case "gzip", "gunzip", "bzip2", "xz":
		return hasOption(args, "cl", "stdout", "list", "test")
	case "yq":
		return !hasOption(args, "i", "inplace", "in-place")
	case "xxd":
		return len(Operands(append([]Word{{}}, args...))) <= 1 && !hasOption(args, "r", "revert")
	case "tar":
		return tarLists(args)
	case "unzip":
		return len(args) > 0 && slices.ContainsFunc([]string{"-l", "-v", "-Z", "-p", "-t"}, func(o string) bool { return strings.HasPrefix(args[0].Text, o) })
	case "sqlite3":
		return len(args) > 0 && args[0].Text == "-readonly"
	case "bash", "sh", "zsh", "dash":
		return len(args) > 0 && args[0].Text == "-n"
	case "make", "gmake":
		return hasOption(args, "n", "dry-run", "just-print", "recon")
	}
	return checks(name, args) || queries(name, args)
}

// tarLists accepts tar that shows what is in an archive.
func tarLists(args []Word) bool {
	if len(args) == 0 || hasOption(args, "xcruAIC", "extract", "get", "create", "append", "update", "delete", "to-command", "checkpoint-action", "use-compress-program", "rsh-command", "info-script") {
		return false
	}
	first := args[0].Text
	return !strings.HasPrefix(first, "-") && strings.Contains(first, "t") && !strings.ContainsAny(first, "xcruAIC") || hasOption(args, "t", "list")
}

// checks reports formatters and checkers that only report.
func checks(name string, args []Word) bool {
	has := func(options ...string) bool {
		return slices.ContainsFunc(args, func(w Word) bool { return slices.Contains(options, w.Text) })
	}
	switch name {
	case "npx", "bunx":
		return len(args) > 1 && args[0].Fixed() && checks(args[0].Text, args[1:])
	case "gofmt", "gofumpt", "goimports":
		return !hasOption(args, "w") && has("-l", "-d")
	case "rustfmt", "isort", "black", "prettier", "autopep8", "stylua", "shfmt":
		return has("--check", "--check-only", "--diff", "-d", "-l", "--list-different", "-c")
	case "cargo":
		return len(args) > 1 && args[0].Text == "fmt" && has("--check")
	case "ruff":
		return len(args) > 0 && (args[0].Text == "check" && !has("--fix", "--unsafe-fixes", "--add-noqa") || args[0].Text == "format" && has("--check", "--diff"))
	case "eslint", "stylelint", "biome", "oxlint":
		return !has("--fix", "--write", "--cache", "--init", "--output-file", "-o") && !has("format", "migrate")
	case "tsc":
		return has("--noEmit", "--showConfig", "--listFilesOnly")
	case "terraform":
		return len(args) > 1 && args[0].Text == "fmt" && has("-check")
	case "clang-format":
		return !hasOption(args, "i")
	case "helm":
		return len(args) > 1 && (args[0].Text == "template" || args[0].Text == "lint") && !has("--output-dir")
	}
	return false
}

// queries reports commands of package managers and the like that print what is there.
func queries(name string, args []Word) bool {
	if len(args) == 0 || !args[0].Fixed() {
		return false
	}
	does := func(names ...string) bool { return slices.Contains(names, args[0].Text) }
	second := ""
	if len(args) > 1 {
		second = args[1].Text
	}
	switch name {
	case "go":
		return does("list", "doc", "help") || does("env") && !hasOption(args, "wu") || does("mod") && slices.Contains([]string{"graph", "why"}, second)
	case "npm":
		return does("ls", "list", "ll", "la", "explain", "why", "root", "prefix", "query") || does("pkg") && second == "get" || does("config") && slices.Contains([]string{"get", "list", "ls"}, second)
	case "yarn", "pnpm", "bun":
		return does("list", "ls", "why", "info", "root", "bin") || does("config") && second == "get" || does("pm") && second == "ls"
	case "pip", "pip3":
		return does("list", "show", "freeze", "check", "inspect")
	case "uv":
		return does("tree") || does("pip") && slices.Contains([]string{"list", "show", "freeze", "tree", "check"}, second)
	case "poetry":
		return does("show", "check", "about")
	case "cargo":
		return does("tree", "metadata", "pkgid", "locate-project", "read-manifest", "--list")
	case "rustup":
		return does("show", "which") || does("toolchain", "target", "component") && second == "list"
	case "bundle", "gem", "composer", "brew":
		return does("list", "show", "info", "contents", "licenses", "which", "leaves", "deps")
	case "dotnet":
		return does("--list-sdks", "--list-runtimes", "--info") || does("list")
	case "apt":
		return does("list", "show", "search", "policy", "depends", "rdepends")
	case "dpkg":
		return does("-l", "-L", "-s", "-S", "--list", "--listfiles", "--status", "--search", "--print-architecture")
	case "rpm":
		return strings.HasPrefix(args[0].Text, "-q")
	}
	return false
}

// gitLikelyReads knows more of git than gitReads: what prints unless a name is given.
func gitLikelyReads(args []Word) bool {
	for len(args) > 1 && (args[0].Text == "--no-pager" || args[0].Text == "-P" || args[0].Text == "-C" && len(args) > 2) {
		if args[0].Text == "-C" {
			args = args[1:]
		}
		args = args[1:]
	}
	if len(args) == 0 || !args[0].Fixed() || gitHasEffects(args[1:]) {
		return false
	}
	name, rest := args[0].Text, args[1:]
	first := ""
	if len(rest) > 0 {
		first = rest[0].Text
	}
	switch name {
	case "check-ignore", "check-attr", "check-mailmap", "fsck", "var", "range-diff", "cherry", "patch-id", "stripspace", "show-branch", "merge-tree", "verify-pack", "get-tar-commit-id", "help", "version":
		return !hasOption(rest, "", "lost-found")
	case "branch", "tag":
		return gitListsRefs(rest)
	case "remote":
		return first == "get-url" || first == "show" && slices.ContainsFunc(rest, func(w Word) bool { return w.Text == "-n" })
	case "stash":
		return first == "show" || first == "list"
	case "submodule":
		return first == "status" || first == "summary" || first == ""
	case "notes", "bundle", "bisect":
		return slices.Contains([]string{"list", "show", "verify", "list-heads", "log"}, first)
	case "symbolic-ref":
		return len(Operands(append([]Word{{}}, rest...))) <= 1 && !hasOption(rest, "dm", "delete")
	case "apply":
		return hasOption(rest, "", "check", "stat", "numstat", "summary") && !hasOption(rest, "3", "index", "cached", "reject")
	case "config":
		return slices.Contains([]string{"get", "list"}, first) && !hasOption(rest, "f", "file")
	case "format-patch":
		return hasOption(rest, "", "stdout")
	case "archive":
		return !hasOption(rest, "o", "remote")
	}
	return false
}

// gitListsRefs accepts the options with which branch and tag list, with their values.
func gitListsRefs(args []Word) bool {
	lists := false
	for i := 0; i < len(args); i++ {
		t := args[i].Text
		name, _, joined := strings.Cut(t, "=")
		switch name {
		case "--contains", "--no-contains", "--merged", "--no-merged", "--points-at", "-l", "--list":
			lists = true
		case "--sort", "--format":
			if lists = true; !joined {
				i++
			}
		case "-a", "-r", "-v", "-vv", "-n", "-i", "--all", "--remotes", "--verbose", "--show-current", "--no-color", "--color", "--column", "--ignore-case":
		default:
			if !lists || strings.HasPrefix(t, "-") {
				return false
			}
		}
	}
	return true
}

// ProgramText reports whether the first operands of a program are texts, not paths.
func ProgramText(name string) bool {
	switch path.Base(name) {
	case "awk", "gawk", "mawk", "nawk", "perl", "python", "python3", "node", "ruby", "php", "expr", "bc", "npm", "npx", "yarn", "pnpm", "printenv", "date", "set", "shopt", "numfmt", "factor", "read", "mapfile", "jq", "yq", "xmllint", "sqlite3", "ulimit", "pgrep", "lsof", "dpkg", "apt", "go", "cargo", "pip", "pip3":
		return true
	}
	return false
}
