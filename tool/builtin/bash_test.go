package builtin

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/actorswarm/swarm/internal/childenv"
)

func TestBashShowsOutputInTheOrderItWasWritten(t *testing.T) {
	k := newKit(t)
	got := k.ok("Bash", in{"command": "for i in 1 2 3; do echo out $i; echo err $i >&2; done", "description": "count"})
	if want := "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := k.ok("Bash", in{"command": "true"}); got != "(no output)" {
		t.Errorf("silence is shown as %q", got)
	}
	if got := k.ok("Bash", in{"command": `printf 'a\0b\xff'`}); got != "a\u2400b\uFFFD" {
		t.Errorf("odd bytes are shown as %q", got)
	}
}

func TestBashTellsTheExitCode(t *testing.T) {
	k := newKit(t)
	k.file("a", "x\n")
	for command, want := range map[string]string{
		"echo out; exit 3":    "Exit code 3\nout",
		"nosuchprogram":       "Exit code 127\n",
		"kill -9 $$":          "Exit code 137 (ended by signal: killed)",
		"if":                  "Exit code ",
		"false":               "Exit code 1",
		"grep x nowhere":      "Exit code 2\n",
		"false && grep y":     "Exit code 1",
		"exec sh -c 'exit 9'": "Exit code 9",
	} {
		if got := k.refused("Bash", in{"command": command}); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want it to begin with %q", command, got, want)
		}
	}
	for command, want := range map[string]string{
		"grep y a":                      "(Exit code 1: no matches.)",
		"cd . && cat a | grep y 2>&1":   "(Exit code 1: no matches.)",
		"diff a /dev/null":              "(Exit code 1: the files differ.)",
		"echo 1; LC_ALL=C [ -e b ]":     "(Exit code 1: the condition is false.)",
		"/usr/bin/env true; test a = b": "(Exit code 1: the condition is false.)",
	} {
		if got := k.ok("Bash", in{"command": command}); !strings.HasSuffix(got, want) {
			t.Errorf("%s: %q, want it to end with %q", command, got, want)
		}
	}
	res, err := k.tool("Bash").Run(t.Context(), call(t, k.tool("Bash"), in{"command": "exit 7"}))
	var d bashDetail
	if err != nil || json.Unmarshal(res.Detail, &d) != nil || d.ExitCode == nil || *d.ExitCode != 7 {
		t.Errorf("the detail is %s (%v)", res.Detail, err)
	}
}

func TestBashKeepsItsFolderInsideTheProject(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // others leave reports in the common one when they are killed
	k := newKit(t)
	real, err := filepath.EvalSymlinks(k.dir)
	if err != nil {
		t.Fatal(err)
	}
	pwd := func() string { return k.ok("Bash", in{"command": "pwd -P"}) }
	k.ok("Bash", in{"command": "mkdir -p 'a b/c'; cd 'a b/c'"})
	if got := pwd(); got != real+"/a b/c" {
		t.Errorf("after cd: %q", got)
	}
	k.refused("Bash", in{"command": "cd ..; exit 4"})
	if got := pwd(); got != real+"/a b" {
		t.Errorf("after cd and a failure: %q", got)
	}
	k.ok("Bash", in{"command": "(cd c); X=1; export Y=2"})
	if got := k.ok("Bash", in{"command": "pwd -P; echo $X$Y"}); got != real+"/a b" {
		t.Errorf("after a subshell and variables: %q", got)
	}
	if got := k.ok("Bash", in{"command": "cd /; set -C"}); !strings.Contains(got, "had left the project for /") {
		t.Errorf("leaving: %q", got)
	}
	if got := pwd(); got != real {
		t.Errorf("after leaving: %q", got)
	}
	k.ok("Bash", in{"command": "mkdir gone; cd gone"})
	if err := os.Remove(filepath.Join(k.dir, "gone")); err != nil {
		t.Fatal(err)
	}
	if got := k.ok("Bash", in{"command": "pwd -P"}); !strings.Contains(got, "is gone") || !strings.HasPrefix(got, real+"\n") {
		t.Errorf("in a removed folder: %q", got)
	}
	k.ok("Bash", in{"command": "mkdir -p sub; cd sub; exec true"}) // no shell is left to report
	if got := pwd(); got != real {
		t.Errorf("after exec: %q", got)
	}
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "*", "tmp", "cwd-*")); err != nil || len(left) > 0 {
		t.Errorf("reports were left: %v (%v)", left, err)
	}
}

// A folder whose name begins with that of the project is not inside it.
func TestASiblingWithTheSamePrefixIsOutside(t *testing.T) {
	k := newKit(t)
	evil := k.dir + "-evil"
	if err := os.Mkdir(evil, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := k.ok("Bash", in{"command": "cd " + evil}); !strings.Contains(got, "had left the project") {
		t.Errorf("got %q", got)
	}
}

// Law: a command sees an environment made from an allow list, no terminal and
// an empty standard input.
func TestCommandsSeeAnAllowedEnvironmentOnly(t *testing.T) {
	vars := map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": "/home/me", "LC_ALL": "C", "TZ": "UTC", "ANTHROPIC_API_KEY": "canary-1", "AWS_SECRET_ACCESS_KEY": "canary-2",
		"GITHUB_TOKEN": "canary-3", "MY_SETTING": "fine", "DB_PASSWORD": "canary-4", "LD_PRELOAD": "canary-5", "BASH_ENV": "canary-6", "OTHER": "canary-7",
		"HTTPS_PROXY": "http://proxy:3128", "HTTP_PROXY": "http://user:canary-8@proxy:3128", "SSH_AUTH_SOCK": "/run/agent",
	}
	k := newKit(t, func(e *Env) {
		e.Getenv = func(name string) string { return vars[name] }
		e.Pass = []string{"MY_SETTING", "SSH_AUTH_SOCK", "GITHUB_TOKEN", "DB_PASSWORD", "LD_PRELOAD", "ANTHROPIC_API_KEY", "BASH_ENV"}
	})
	got := k.ok("Bash", in{"command": "env"})
	if strings.Contains(got, "canary") {
		t.Errorf("a secret came through:\n%s", got)
	}
	for _, want := range []string{
		"HOME=/home/me", "LC_ALL=C", "TZ=UTC", "MY_SETTING=fine", "HTTPS_PROXY=http://proxy:3128", "SSH_AUTH_SOCK=/run/agent",
		"GIT_TERMINAL_PROMPT=0", "PAGER=cat", "GIT_PAGER=cat", "SWARM_AGENT=agent-1", "SWARM_SESSION=" + k.session(),
	} {
		if !strings.Contains("\n"+got+"\n", "\n"+want+"\n") {
			t.Errorf("%s is missing in:\n%s", want, got)
		}
	}
	bare := newKit(t, func(e *Env) { e.Getenv = nil })
	if got := bare.ok("Bash", in{"command": "echo $PATH$HOME; ls -d /"}); got != childenv.FallbackPath+"\n/" {
		t.Errorf("without a source of variables: %q", got)
	}
}

func (k *kit) session() string { return k.tool("Bash").(*bashTool).env.Session }

// T8: what waits for input or a terminal ends.
func TestNothingWaitsForInputOrATerminal(t *testing.T) {
	k := newKit(t)
	for command, want := range map[string]string{
		"read x; echo got $?":                      "got 1",
		"cat; echo end":                            "end",
		"(: </dev/tty) 2>/dev/null || echo no tty": "no tty",
		"tty":                           "not a tty",
		`printf "1\n2\n3\n" | ${PAGER}`: "1\n2\n3",
		"git init -q . && git -c user.name=a -c user.email=a@b commit --allow-empty -q --amend; echo done": "done",
	} {
		res, err := k.tool("Bash").Run(t.Context(), call(t, k.tool("Bash"), in{"command": command, "timeout": 20_000}))
		if err != nil || !strings.Contains(res.Text, want) || strings.Contains(res.Text, "time limit") {
			t.Errorf("%s: %q, %v; want %q", command, res.Text, err, want)
		}
	}
}

// counts prints the numbers up to 100000, as seq does where there is one.
const counts = "awk 'BEGIN{while(i++<100000)print i}'"

// Law: output is bounded.
func TestLongOutputIsCutInTheMiddleAndKept(t *testing.T) {
	k := newKit(t)
	got := k.ok("Bash", in{"command": "echo first; " + counts + "; echo last"})
	if n := len([]rune(got)); n > inlineOutput || n < inlineOutput/2 {
		t.Errorf("%d characters are shown", n)
	}
	if !strings.HasPrefix(got, "first\n1\n2\n") || !strings.HasSuffix(got, "\n100000\nlast") {
		t.Errorf("it begins %.20q and ends %q", got, got[len(got)-20:])
	}
	files, err := os.ReadDir(k.out)
	if err != nil || len(files) != 1 {
		t.Fatalf("the folder of outputs holds %v (%v)", files, err)
	}
	path := filepath.Join(k.out, files[0].Name())
	if !strings.Contains(got, path) {
		t.Errorf("the file %s is not named", path)
	}
	kept, err := os.ReadFile(path)
	if err != nil || len(kept) != len("first\nlast\n")+588895 {
		t.Errorf("%d bytes are kept (%v)", len(kept), err)
	}
	for p, want := range map[string]os.FileMode{path: 0o600, k.out: 0o700} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm() != want {
			t.Errorf("the mode of %s is %v (%v), want %v", p, info.Mode(), err, want)
		}
	}
	if got := k.ok("Bash", in{"command": "printf 'ä%.0s' $(" + counts + ")"}); strings.Contains(got, "\uFFFD") {
		t.Error("the cut split a character")
	}
	nowhere := newKit(t, func(e *Env) { e.OutputDir = "" })
	if got := nowhere.ok("Bash", in{"command": counts}); !strings.Contains(got, "no folder for outputs") || len(got) > inlineOutput {
		t.Errorf("without a folder: %d bytes, %.100q", len(got), got[inlineOutput/2-300:])
	}
}

func TestCaptureShowsAllThatFits(t *testing.T) {
	for _, n := range []int{0, 1, inlineOutput - 1, inlineOutput} {
		c := newCapture(t.TempDir(), "f", maxOutput)
		text := strings.Repeat("x", n)
		fmt.Fprint(c, text)
		if c.text() != text {
			t.Errorf("%d bytes are shown as %d", n, len(c.text()))
		}
	}
	for _, n := range []int{inlineOutput + 1, inlineOutput + 400, 3 * inlineOutput, 20 * inlineOutput} {
		c := newCapture(t.TempDir(), "f", maxOutput)
		for i := range n {
			fmt.Fprintf(c, "%c", 'a'+i%26)
		}
		got := c.text()
		if len(got) > inlineOutput || got[len(got)-1] != byte('a'+(n-1)%26) || got[0] != 'a' {
			t.Errorf("of %d bytes %d are shown, ending in %q", n, len(got), got[len(got)-1:])
		}
		c.close()
		if kept, err := os.ReadFile(c.path()); err != nil || len(kept) != n {
			t.Errorf("of %d bytes %d are kept (%v)", n, len(kept), err)
		}
	}
}

// T3: a flood without a line end is ended at the limit.
func TestAFloodIsEnded(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 64 MB")
	}
	k := newKit(t)
	got := k.refused("Bash", in{"command": "cat /dev/zero"})
	if !strings.Contains(got, "ended after printing 64.0 MB") || len(got) > 3*inlineOutput {
		t.Errorf("got %d bytes: %.200q", len(got), got)
	}
	k.gone()
}

func TestBashRefusals(t *testing.T) {
	k := newKit(t)
	for command, want := range map[string]string{"": "empty", " \n": "empty", "a\x00b": "NUL", strings.Repeat("x", maxCommand+1): "put it into a file"} {
		if got := k.refused("Bash", in{"command": command}); !strings.Contains(got, want) {
			t.Errorf("%.20q: %q", command, got)
		}
	}
	lost := newKit(t, func(e *Env) { e.Dir = filepath.Join(e.Dir, "nowhere") })
	if got := lost.refused("Bash", in{"command": "true"}); !strings.Contains(got, "nowhere") {
		t.Errorf("in a folder that is not there: %q", got)
	}
}

func TestTimeoutsAreClamped(t *testing.T) {
	b := &bashTool{}
	c := &bashTool{env: Env{BashTimeout: time.Second, MaxBashTimeout: time.Minute}}
	for _, x := range []struct {
		b    *bashTool
		ms   int64
		want time.Duration
	}{
		{b, 0, 120 * time.Second},
		{b, 5, 5 * time.Millisecond},
		{b, 1 << 40, 600 * time.Second},
		{b, 1<<63 - 1, 600 * time.Second},
		{b, -1, 120 * time.Second},
		{c, 0, time.Second},
		{c, 1 << 40, time.Minute},
	} {
		if got := x.b.timeout(x.ms); got != x.want {
			t.Errorf("timeout(%d) = %v, want %v", x.ms, got, x.want)
		}
	}
}
