package shellfuzz

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// names are what the commands of a world may name.
type names struct {
	home, dir, outside, state, socket string
	port, pid                         int
}

// generator writes one shell text. Two of the same seed write the same.
type generator struct {
	rand  *rand.Rand
	names names
	// tame generators write few constructs beside those that only read.
	tame  bool
	depth int
}

// newGenerator returns the generator of the text with a number in the run of a seed.
func newGenerator(seed, number uint64, n names) *generator {
	return &generator{rand: rand.New(rand.NewPCG(seed, number)), names: n, tame: number%2 == 0}
}

func (g *generator) chance(percent int) bool { return g.rand.IntN(100) < percent }

// pick returns one of some templates, filled in: § and a letter stand for what it is made of.
func (g *generator) pick(of ...string) string {
	template := of[g.rand.IntN(len(of))]
	var b strings.Builder
	for {
		text, rest, found := strings.Cut(template, "§")
		b.WriteString(text)
		if !found {
			return b.String()
		}
		b.WriteString(g.part(rest[0]))
		template = rest[1:]
	}
}

// part returns what a letter of a template stands for.
func (g *generator) part(letter byte) string {
	switch letter {
	case 's':
		return g.simple()
	case 'b': // between backquotes
		return strings.ReplaceAll(g.simple(), "`", "")
	case 'l':
		return g.list()
	case 'w':
		return g.word()
	case 'W':
		return g.words(3)
	case 't':
		return g.target()
	case 'q':
		return g.quoted(g.target())
	case 'o':
		return g.hostileOption()
	case 'a':
		return g.attack()
	}
	panic("no part " + string(letter))
}

// wild reports whether to write something unusual: often, or rarely in a tame text.
func (g *generator) wild(percent int) bool {
	if g.tame {
		percent = (percent + 7) / 8
	}
	return g.chance(percent)
}

// text returns a whole command.
func (g *generator) text() string {
	if g.chance(25) {
		return g.mutated()
	}
	return g.list()
}

// mutated returns a harmless command of the corpus with something put into it.
func (g *generator) mutated() string {
	words := strings.Split(corpus[g.rand.IntN(len(corpus))].text, " ")
	for range 1 + g.rand.IntN(2) {
		i := g.rand.IntN(len(words))
		switch g.rand.IntN(6) {
		case 0:
			words[i] = g.quoted(g.target())
		case 1:
			words[i] += " " + g.hostileOption()
		case 2:
			words[i] = g.word()
		case 3:
			words[i] += g.pick(" ;", " |", " &&", " ||", "\n", " &") + " " + g.simple() + " " + g.pick(";", "|", "&&", "#")
		case 4:
			words[i] += " " + g.redirect()
		case 5:
			words[i] = words[g.rand.IntN(len(words))]
		}
	}
	return strings.Join(words, " ")
}

// list returns commands that are joined.
func (g *generator) list() string {
	g.depth++
	defer func() { g.depth-- }()
	out := g.pipeline()
	for g.depth < 4 && g.chance(30) {
		out += g.pick("; ", " && ", " || ", "\n", " & ") + g.pipeline()
	}
	return out
}

func (g *generator) pipeline() string {
	out := g.command()
	for g.depth < 4 && g.chance(25) {
		out += g.pick(" | ", " |& ", " | ") + g.command()
	}
	return out
}

// command returns a simple or a compound command with redirections.
func (g *generator) command() string {
	out := ""
	if g.depth < 3 && g.wild(35) || g.depth < 3 && g.chance(8) {
		out = g.compound()
	} else {
		out = g.simple()
	}
	for g.wild(25) {
		out += " " + g.redirect()
	}
	if g.chance(10) {
		out += g.pick(" 2>&1", " 2>/dev/null", " >/dev/null", " </dev/null", " &>/dev/null")
	}
	return out
}

func (g *generator) compound() string {
	v := g.variable()
	switch g.rand.IntN(19) {
	case 0:
		return "(" + g.list() + ")"
	case 1:
		return "{ " + g.list() + "; }"
	case 2:
		return "if " + g.list() + "; then " + g.list() + "; else " + g.list() + "; fi"
	case 3:
		return "for " + v + " in " + g.words(3) + "; do " + g.use(v) + "; done"
	case 4:
		return g.simple() + " | while read -r " + v + "; do " + g.use(v) + "; done"
	case 5:
		return "case " + g.word() + " in " + g.pick("*", "a*", "[a-z]*") + ") " + g.list() + ";; esac"
	case 6:
		return v + "=" + g.word() + "; " + g.use(v)
	case 7:
		return v + "=$(" + g.list() + "); " + g.use(v)
	case 8:
		return "f() { " + g.list() + "; }; f " + g.words(2)
	case 9:
		return v + "=(" + g.words(3) + "); " + g.pick("cat", "echo", "head -n 1", "") + ` "${` + v + `[@]}"`
	case 10:
		return "[[ " + g.word() + " " + g.pick("==", "=~", "-nt", "-eq", "<") + " " + g.word() + " ]] && " + g.simple()
	case 11:
		return "((" + g.pick("1", v+"=1", "a[$(§s)]", "1+1") + ")); " + g.simple()
	case 12:
		return "eval " + g.quoted(g.list())
	case 13:
		return g.pick("bash -c ", "sh -c ", "bash <<< ", "source <(", "trap ") + g.quoted(g.list()) + g.pick("", " EXIT", ")")
	case 14:
		return "! " + g.simple()
	case 15:
		return "time " + g.simple()
	case 16:
		return "coproc " + g.simple() + "; wait"
	case 17:
		return g.pick("set -f", "shopt -s extglob", "shopt -s globstar nullglob", "set -o noglob", "alias ls='§a'", "exec 3<§w", "declare -n "+v+"=IFS", "export "+v+"=§w", "IFS=/", "cd §w", "set -- §W") +
			"; " + g.simple()
	}
	return "cat <<" + g.pick("EOF", "'EOF'") + "\n" + g.pick("text", "$(§s)", "`§s`", "${x:-$(§s)}") + "\nEOF"
}

// use returns a command that uses a variable.
func (g *generator) use(v string) string {
	if g.wild(30) {
		return g.list()
	}
	ref := g.pick(`"$`+v+`"`, "$"+v, "${"+v+"}", `"${`+v+`%.*}"`, "${"+v+"//a/b}", "${!"+v+"}", "${"+v+"@P}", "${#"+v+"}")
	return g.pick("cat", "echo", "wc -l", "head -n 2", "grep -c a", "ls -l", "stat", "git log --oneline -n 1 --", "find", "sed -n 1p", "sort", "git diff", "jq .", "touch", "rm -f", "tee", "cp a.txt", "") + " " + ref
}

func (g *generator) variable() string { return g.pick("f", "x", "name", "file", "FILE", "PAGER") }

// simple returns a simple command.
func (g *generator) simple() string {
	out := ""
	if g.wild(12) {
		out = g.pick("A=1", "LANG=C", "x=§w", "PATH=.:$PATH", "GIT_PAGER=./evil", "LD_PRELOAD=./evil", "GIT_EXTERNAL_DIFF=./evil", "HOME="+g.names.outside, "BASH_ENV=./evil", "CDPATH=/", "GIT_DIR=§w",
			"PYTHONSTARTUP=./evil", "RIPGREP_CONFIG_PATH=sub/rg", "LESSOPEN='|./evil'", "TZ=Asia/Tokyo", "GREP_OPTIONS=-r", "NO_COLOR=1") + " "
	}
	if g.wild(12) {
		out += g.pick("timeout 5", "nice -n 5", "nohup", "command", "env", "env A=1", "stdbuf -oL", "xargs", "env -i", "time", "env -C §w", "exec", "builtin", "sudo", "setsid", "xargs -I{}", "xargs -n 1", "busybox") + " "
	}
	if g.wild(18) {
		return out + g.attack()
	}
	if g.wild(10) {
		return out + g.mangled(g.program())
	}
	return out + g.program()
}

// mangled quotes parts of the name of a program.
func (g *generator) mangled(command string) string {
	name, rest, _ := strings.Cut(command, " ")
	at := g.rand.IntN(len(name) + 1)
	return g.pick(`\`+name, "'"+name+"'", name[:at]+"''"+name[at:], name[:at]+"$x"+name[at:], name[:at]+`""`+name[at:], "/bin/"+name, "./"+name, "$(echo "+name+")", "$'"+ansi(name)+"'", name[:at]+"\\\n"+name[at:]) + " " + rest
}

func ansi(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&b, `\x%02x`, c)
	}
	return b.String()
}

// words returns some words.
func (g *generator) words(most int) string {
	out := g.word()
	for range g.rand.IntN(most) {
		out += " " + g.word()
	}
	return out
}

// word returns a word in some quoting.
func (g *generator) word() string {
	switch {
	case g.wild(20):
		return g.quoted(g.target())
	case g.wild(15):
		return g.expansion()
	case g.wild(6):
		return g.hostileOption()
	}
	return g.quoted(g.file())
}

// file returns the name of something in the working directory.
func (g *generator) file() string {
	return g.pick("a.txt", "b.txt", "src/main.go", "data.json", "sp ace.txt", "sub", ".", "src", "sub/deep/c.txt", "list", "none", "script.py", "Makefile", "package.json", "-n", "*.txt", "src/*.go", "**/*.go", "a", "1", "HEAD", "main")
}

// target returns the name of a canary, or of something that leads to one.
func (g *generator) target() string {
	n := g.names
	return g.pick(n.outside+"/file", "../../outside/file", n.outside, n.home+"/.ssh/id", "~/.ssh/id", "$HOME/.ssh/id", "../.ssh/id", "link", "up/.ssh/id", "up", "outlink", "outlink/new", "../../outside/new",
		n.state+"/journal", "../.swarm/journal", n.state, n.socket, ".git/config", ".git/hooks/post-checkout", ".claude/settings.json", ".mcp.json", ".envrc", ".env", "sub/.env", "/proc/self/environ", "/proc/$PPID/environ", fmt.Sprintf("/proc/%d/environ", n.pid), fmt.Sprintf("/proc/%d/cwd/../.ssh/id", n.pid),
		"/proc/self/root"+n.outside+"/file", "/proc/self/cwd/../.ssh/id", "/proc/$PPID/root"+n.home+"/.ssh/id", "/dev/fd/3", "..", "~", "/etc/shadow", n.home+"/.netrc", n.home+"/.aws/credentials", n.home+"/notes", "../notes", ".git", ".claude", "sub/.git/config",
		fmt.Sprintf("/dev/tcp/127.0.0.1/%d", n.port), fmt.Sprintf("/dev/udp/127.0.0.1/%d", n.port), n.home+"/.bashrc", "hard")
}

// quoted returns a text as a word in one of the ways of quoting, some of which change it.
func (g *generator) quoted(s string) string {
	if strings.HasPrefix(s, "~") || strings.HasPrefix(s, "$") || strings.ContainsAny(s, "*") && g.chance(60) {
		return s
	}
	single := "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	if strings.ContainsAny(s, " \n;|&<>()`") {
		return g.pick(single, single, `"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s)+`"`)
	}
	if !g.wild(40) {
		return s
	}
	at := g.rand.IntN(len(s) + 1)
	if strings.HasPrefix(s, "/") {
		at = max(at, strings.LastIndexByte(s, '/')+1) // no pattern matches the top of the machine
	}
	return g.pick(single, `"`+s+`"`, s[:at]+"''"+s[at:], s[:at]+`""`+s[at:], s[:at]+`\`+s[at:], "$'"+ansi(s)+"'", "{"+s+",}", "{"+s+",a.txt}", "${u:-"+s+"}", `"${u:-`+s+`}"`, "$(echo "+s+")", "`echo "+s+"`", "$(printf %s "+single+")", s[:at]+"?"+s[min(at+1, len(s)):], s[:at]+"*", "[a-z]"+s, s+"*", "${HOME}/"+s, "./"+s, "//"+strings.TrimPrefix(s, "/"), "@("+s+")", `$"`+s+`"`, "sub/../"+s)
}

// expansion returns a word that the shell computes.
func (g *generator) expansion() string {
	v := g.variable()
	return g.pick("$"+v, `"$`+v+`"`, "${"+v+":-§t}", "${"+v+":=§t}", "${!"+v+"}", "${"+v+"@P}", "${"+v+"[$(§s)]}", "$((1+1))", "$(("+v+"))", "$(("+v+"[$(§s)]))", "$(§s)", "`§b`", "<(§s)", ">(§s)",
		"$?", "$$", "$HOME", "$PWD", "$OLDPWD", "$RANDOM", "$BASH", "$@", "${PWD%/*}", "${PWD%/*}/.ssh/id", "~+", "~-", "{1..3}", "{a,../../outside/file}", "$'\\x2e\\x2e/.ssh/id'", "$(<§t)", "${BASH_SOURCE}", "${PATH:0:1}etc/passwd", "$PPID")
}

func (g *generator) redirect() string {
	to := g.word()
	if g.wild(50) {
		to = g.quoted(g.target())
	}
	return g.pick("> ", ">> ", ">| ", "&> ", "< ", "< ", "<> ", "<<< ", "2> ", ">& ", "3> ", "{fd}> ", "2>&1 > ", "> >(cat) 2> ") + to
}

// hostileOption returns an option with which some program writes, runs or reads more.
func (g *generator) hostileOption() string {
	t := g.quoted(g.target())
	return g.pick("-i", "-o "+t, "-o"+t, "--output="+t, "--outp="+t, "-w", "-exec ./evil ;", `-exec ./evil \;`, "-execdir ./evil {} +", "-delete", "-fprint "+t, "-fprintf "+t+" %p", "-fls "+t, "-ok ./evil {} ;", "--pre ./evil", "--pre=./evil", "-z", "-f "+t, "--file="+t, "-c core.pager=./evil", "-c core.fsmonitor=./evil", "-c alias.x=!./evil",
		"--ext-diff", "--textconv", "--no-index "+t, "--git-dir="+t, "-C "+t, "--exec-path=.", "--upload-pack=./evil", "-p", "--paginate", "--open-files-in-pager=./evil", "-O./evil", "--compress-program=./evil", "-T "+t, "--files0-from="+t, "--from-file="+t, "--to-command=./evil", "--checkpoint-action=exec=./evil", "--checkpoint=1 --checkpoint-action=exec=./evil", "--use-compress-program=./evil",
		"-I ./evil", "-P", "-e 's/a/b/w "+t+"'", "-e '1e ./evil'", "-n -e 'w "+t+"'", "--rawfile a "+t, "--slurpfile a "+t, "-L .", "--args", "--", "-", "-R", "-L", "-H", "--hostname-bin=./evil", "--follow", "-rf", "--ignore-file="+t, "-s", "-v x", "-t "+t, "--target-directory="+t, "-a "+t, "--arg-file="+t, "--rcfile ./evil", "-u", "--in-place", "--in-place=.bak", "-i.bak", "-S", "--json", "-x")
}
