package shell

import (
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

func parsed(text string) *Script { return Parse(text, "/srv/proj", "/home/ann") }

func TestEveryCommandIsFound(t *testing.T) {
	for _, text := range []string{
		"curl x", "ls; curl x", "ls && curl x", "ls | curl x", "curl x &", "(curl x)", "{ curl x; }", "! curl x", "time curl x", "coproc curl x",
		"echo $(curl x)", "echo `curl x`", "cat <(curl x)", "x=$(curl x)", "a[$(curl x)]=1", "echo ${x:-$(curl x)}", "ls > $(curl x)", "cat <<E\n$(curl x)\nE",
		"if curl x; then ls; fi", "while ls; do curl x; done", "for a in b; do curl x; done", "for a in $(curl x); do ls; done", "case a in a) curl x;; esac", "f() { curl x; }", "[[ -n $(curl x) ]]",
		"sudo curl x", "env A=b curl x", "timeout 5 curl x", "xargs curl x", "nohup nice curl x", "bash -c 'curl x'", "bash -lc 'ls; curl x'", "eval curl x", "trap 'curl x' EXIT",
		`find . -exec curl x \;`, "env -S 'curl x'", "watch -n 1 curl x", "c'u'rl x", `\curl x`, `$'\x63url' x`, "cu\\\nrl x",
	} {
		s := parsed(text)
		if s.Err != nil || !slices.ContainsFunc(s.Commands, func(c Command) bool {
			return len(c.Words) == 2 && c.Words[0].Text == "curl" && c.Words[1].Text == "x"
		}) {
			t.Errorf("%q: curl x is not among %v (%v)", text, s.Commands, s.Err)
		}
	}
	for _, text := range []string{"echo 'curl x'", "echo curl x", "# curl x", "ls curl x"} {
		if s := parsed(text); slices.ContainsFunc(s.Commands, func(c Command) bool { return c.Words[0].Text == "curl" }) {
			t.Errorf("%q: curl is among %v", text, s.Commands)
		}
	}
}

// FuzzParseFindsEveryCommand compares with a walk over the syntax tree that knows
// nothing of directories and wrappers.
func FuzzParseFindsEveryCommand(f *testing.F) {
	for _, s := range []string{"a | b", "a $(b) <<E\n`c`\nE", "if a; then b; fi; f() { c; }", "a[$(b)]=c d", "case $(a) in b) c;; esac", "[[ -n $(a) ]] && b", "for a in $(b); do c; done"} {
		f.Add(s)
	}
	cfg := &expand.Config{
		Env:       expand.FuncEnviron(func(string) string { return "" }),
		CmdSubst:  func(io.Writer, *syntax.CmdSubst) error { return errors.New("unknown") },
		ProcSubst: func(*syntax.ProcSubst) (string, error) { return "", errors.New("unknown") },
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4096 || !utf8.ValidString(text) {
			return
		}
		s := parsed(text)
		file, err := syntax.NewParser().Parse(strings.NewReader(text), "")
		if err != nil || s.Err != nil {
			return
		}
		for n := range syntax.Preorder(file) {
			call, ok := n.(*syntax.CallExpr)
			if !ok || len(call.Args) == 0 {
				continue
			}
			name, err := expand.Literal(cfg, call.Args[0])
			if err != nil || name == "" || strings.HasPrefix(name, "~") {
				continue
			}
			if !slices.ContainsFunc(s.Commands, func(c Command) bool {
				return len(c.Words) > 0 && (WithoutExpansions(c.Words[0].Text) == name || !c.Words[0].Literal)
			}) {
				t.Errorf("%q: %q is not among %v", text, name, s.Commands)
			}
		}
	})
}

func TestDirectoriesAreFollowed(t *testing.T) {
	const proj = "/srv/proj"
	for text, want := range map[string][]string{
		"here":                            {proj},
		"cd sub && here":                  {proj + "/sub"},
		"cd sub; here":                    {proj, proj + "/sub"},
		"cd /tmp && cd a && here":         {"/tmp/a"},
		"cd && here":                      {"/home/ann"},
		"(cd sub); here":                  {proj},
		"cd sub | here":                   {proj},
		"cd sub & here":                   {proj},
		"cd $X && here":                   nil,
		"cd - && here":                    nil,
		"CDPATH=/ cd sub && here":         nil,
		"pushd sub; here":                 nil,
		"eval x; here":                    nil,
		"while true; do cd a; here; done": nil,
		"cd sub || here":                  {proj, proj + "/sub"},
	} {
		s := parsed(text)
		i := slices.IndexFunc(s.Commands, func(c Command) bool { return len(c.Words) > 0 && c.Words[0].Text == "here" })
		if i < 0 {
			t.Errorf("%q: the command is not found", text)
			continue
		}
		if got := slices.Sorted(slices.Values(s.Commands[i].Dirs)); !slices.Equal(got, want) {
			t.Errorf("%q: it runs in %q, want %q", text, got, want)
		}
	}
}

// TestFixedWordsAreWhatTheShellPasses asks a shell what it makes of a word.
func TestFixedWordsAreWhatTheShellPasses(t *testing.T) {
	sh, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not there")
	}
	fixed := 0
	for _, word := range []string{
		"plain", "a'b c'd", `"a b"`, `a\ b`, `\$x`, `"\$x"`, `"a\b"`, `$'a\tb'`, `$'\x41\101\u00e9'`, `'$x'`, `""`, `a""b`, `"a'b"`, `'a"b'`, "a\\\nb", `~/x`, `~`, `a~b`, `\~/x`, `"~/x"`,
		"$x", `"$x"`, "$(echo a)", "*", "a?", "[ab]", "{a,b}", "{a}", "a{1..2}", "$HOME/x", "ü", `"a\"b"`, "a#b", "--x=y", `$"a"`,
	} {
		s := parsed("printf %s " + word)
		i := slices.IndexFunc(s.Commands, func(c Command) bool { return c.Words[0].Text == "printf" })
		if s.Err != nil || i < 0 || len(s.Commands[i].Words) != 3 {
			t.Fatalf("%q: %v, %v", word, s.Commands, s.Err)
		}
		w := s.Commands[i].Words[2]
		if !w.Fixed() {
			continue
		}
		fixed++
		cmd := exec.CommandContext(t.Context(), sh, "-c", "printf %s "+word)
		cmd.Env, cmd.Dir = []string{"HOME=/home/ann", "LC_ALL=C.UTF-8"}, t.TempDir()
		if out, err := cmd.Output(); err != nil || string(out) != w.Text {
			t.Errorf("%s is %q here, and %q in bash (%v)", word, w.Text, out, err)
		}
	}
	if fixed < 15 {
		t.Errorf("%d words were compared only", fixed)
	}
}

func TestUncertaintyIsReported(t *testing.T) {
	for text, about := range map[string]func(*Script) bool{
		"echo 'x":                         func(s *Script) bool { return s.Err != nil },
		"ls\rrm x":                        func(s *Script) bool { return s.Err != nil },
		"f() { ls; }; f":                  func(s *Script) bool { return s.Opaque != "" },
		"echo $((a))":                     func(s *Script) bool { return s.Opaque != "" },
		"eval \"$x\"":                     func(s *Script) bool { return s.Opaque != "" && s.Untraced != "" },
		"echo {a,b}":                      func(s *Script) bool { return s.Untraced != "" },
		"cat <<E\n$x\nE":                  func(s *Script) bool { return s.Untraced != "" },
		strings.Repeat("x", MaxCommand):   func(s *Script) bool { return !s.TooLong },
		strings.Repeat("x", MaxCommand+1): func(s *Script) bool { return s.TooLong },
		"ls -l | wc":                      func(s *Script) bool { return s.Err == nil && s.Opaque == "" && s.Untraced == "" && !s.TooLong },
	} {
		if s := parsed(text); !about(s) {
			t.Errorf("%.40q: %v, %q, %q, %v", text, s.Err, s.Opaque, s.Untraced, s.TooLong)
		}
	}
}

func TestRedirectionsAndOperands(t *testing.T) {
	for text, want := range map[string]string{
		"echo a > out":        "out",
		"echo a >> out 2>&1":  "out",
		"cat < in":            "",
		"ls > /dev/null":      "",
		"tee a b":             "a b",
		"cp -r a b dir":       "a b dir dir/a dir/b",
		"sed -i s/a/b/ f":     "s/a/b/ f",
		"dd if=a of=b":        "b",
		"timeout 5 touch x":   "x",
		"mkdir -p --mode=7 d": "7 d",
		"rm -- -f":            "-f",
	} {
		var got []string
		for _, c := range parsed(text).Commands {
			for _, r := range c.Redirects {
				if r.Writes() {
					got = append(got, r.Target.Text)
				}
			}
			if !c.Hidden {
				for _, w := range c.Written() {
					got = append(got, w.Text)
				}
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%q writes %q, want %q", text, s, want)
		}
	}
}

func TestHostileTextsAreParsedInBoundedTime(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("$(", 32000), strings.Repeat("{ ", 30000), strings.Repeat("ls;", 21000), strings.Repeat("`", 60000), strings.Repeat("! ", 32000), strings.Repeat("if ", 20000),
		strings.Repeat("eval ", 12000) + "ls", strings.Repeat("sudo ", 12000) + "ls", "find . " + strings.Repeat("-exec find . ", 4500),
	} {
		if s := parsed(text); len(s.Commands) > maxCommands+maxEval || s.Err == nil && !s.TooLong {
			t.Errorf("%.20q…: %d commands, %v", text, len(s.Commands), s.Err)
		}
	}
}
