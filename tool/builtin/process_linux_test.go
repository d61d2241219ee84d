package builtin

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/actorswarm/swarm/tool"
)

// tagged lists the living processes of the kit's session.
func (k *kit) tagged() (pids []int) {
	k.t.Helper()
	return taggedWith(k.t, "SWARM_SESSION="+k.session())
}

func taggedWith(t testing.TB, entry string) (pids []int) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no processes are seen (%v)", err)
	}
	for _, d := range dirs {
		pid, err := strconv.Atoi(filepath.Base(d))
		if err == nil && hasEnv(pid, []byte(entry+"\x00")) == marked {
			pids = append(pids, pid)
		}
	}
	return pids
}

// gone fails the test if a process of the session lives on. On a busy machine
// a killed process takes a while to die, so it is given some time; what was
// missed sleeps for much longer.
func (k *kit) gone() {
	k.t.Helper()
	last := ""
	defer func() {
		if last != "" {
			k.t.Errorf("alive:%s", last)
		}
	}()
	waitUntil(k.t, "all processes of the session to die", func() bool {
		last = ""
		for _, pid := range k.tagged() {
			cmdline, err := os.ReadFile(procFile(pid, "cmdline"))
			last += fmt.Sprintf("\n%d %q %v", pid, cmdline, err)
		}
		return last == ""
	})
}

// hostile are ways to outlive a shell. Each writes its process id before it
// sleeps, so that the test knows that it really ran.
var hostile = map[string]string{
	"background child":          `%s &`,
	"ignores SIGTERM":           `(trap '' TERM; %s) &`,
	"own session":               `setsid sh -c '%s' &`,
	"own session, silent":       `setsid sh -c '%s' >/dev/null 2>&1 </dev/null &`,
	"double fork":               `( (setsid sh -c '%s' &) & )`,
	"holds the output":          `(exec 2>&1; %s; %[1]s) &`,
	"nohup":                     `nohup sh -c '%s' >/dev/null 2>&1 &`,
	"no environment":            `env -i setsid sh -c '%s' >/dev/null 2>&1 &`,
	"no descriptors":            `setsid bash -c 'exec 19>&-; %s' >/dev/null 2>&1 &`,
	"job control":               `set -m; %s &`,
	"disowned":                  `%s & disown -a`,
	"coprocess":                 `coproc { %s; }`,
	"stopped":                   `sh -c 'kill -STOP $$; true' & setsid sh -c '%s' &`,
	"daemon with closed output": `setsid sh -c 'cd /; exec >&- 2>&- <&-; %s' & disown`,
}

// needs skips a test that starts a session of its own where no command does so.
func needs(t *testing.T, command string) {
	if _, err := exec.LookPath("setsid"); err != nil && strings.Contains(command, "setsid") {
		t.Skip("setsid is not here")
	}
}

// script runs a long sleep in one of the hostile forms and returns when it has
// begun, its process id being in the file.
func script(k *kit, form, file string) string {
	k.file("nap.sh", fmt.Sprintf("echo $$ >>%s\nexec sleep 987\n", file))
	return fmt.Sprintf(form, "sh "+filepath.Join(k.dir, "nap.sh")) +
		fmt.Sprintf("\nuntil [ -s %s ]; do sleep 0.01; done", file)
}

// dead fails the test if one of the processes noted in the file lives on, or
// if none was noted.
func dead(t *testing.T, file string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil || len(content) == 0 {
		t.Fatalf("nothing ran: %v", err)
	}
	for _, line := range strings.Fields(string(content)) {
		pid, err := strconv.Atoi(line)
		if err != nil {
			t.Fatal(err)
		}
		waitUntil(t, "process "+line+" to die", func() bool {
			cmdline, err := os.ReadFile(procFile(pid, "cmdline"))
			return err != nil || !bytes.Contains(cmdline, []byte("987"))
		})
	}
}

// Law: a foreground command leaves nothing behind, here when it ends by
// itself.
func TestForegroundLeavesNothingBehind(t *testing.T) {
	for name, form := range hostile {
		t.Run(name, func(t *testing.T) {
			needs(t, form)
			t.Parallel()
			k := newKit(t)
			file := filepath.Join(t.TempDir(), "pids")
			got := k.ok("Bash", in{"command": script(k, form, file) + "\necho done"})
			if !strings.Contains(got, "done") || !strings.Contains(got, "left running were ended") {
				t.Errorf("the result is %q", got)
			}
			dead(t, file)
			k.gone()
		})
	}
}

// Law: a foreground command leaves nothing behind, here when it is stopped,
// and a stop takes less than a second.
func TestAStopLeavesNothingBehind(t *testing.T) {
	for name, form := range hostile {
		t.Run(name, func(t *testing.T) {
			needs(t, form)
			k := newKit(t)
			file := filepath.Join(t.TempDir(), "pids")
			ctx, cancel := cancelled(t, "stopped by its parent")
			type outcome struct {
				text string
				err  error
			}
			done := make(chan outcome, 1)
			command := script(k, form, file) + "\necho under way\nsleep 5"
			go func() {
				res, err := k.tool("Bash").Run(ctx, call(t, k.tool("Bash"), in{"command": command}))
				done <- outcome{res.Text, err}
			}()
			waitUntil(t, "the command to run", func() bool { info, err := os.Stat(file); return err == nil && info.Size() > 0 })
			cancel()
			select {
			case got := <-done:
				if got.err != nil || !strings.Contains(got.text, "stopped by its parent") {
					t.Errorf("the result is %q, %v", got.text, got.err)
				}
			case <-time.After(5 * time.Second):
				t.Fatal("the stop did not take")
			}
			dead(t, file)
			k.gone()
		})
	}
}

// T1, T2: a command that hangs and ignores SIGTERM is ended after its limit.
func TestATimeoutEndsWhatIgnoresSIGTERM(t *testing.T) {
	k := newKit(t)
	got := k.refused("Bash", in{"command": "trap '' TERM; echo before; while :; do sleep 1; done", "timeout": 200})
	if !strings.Contains(got, "time limit of 200ms") || !strings.Contains(got, "before") {
		t.Errorf("got %q", got)
	}
	k.gone()
	got = k.refused("Bash", in{"command": "trap 'echo tidied; exit 0' TERM; echo before; while :; do sleep 0.05; done", "timeout": 300})
	if !strings.Contains(got, "tidied") {
		t.Errorf("a command that tidies up on SIGTERM gave %q", got)
	}
}

// A stopped command is asked before it is killed.
func TestAStopLetsACommandTidyUp(t *testing.T) {
	k := newKit(t)
	ctx, cancel := cancelled(t, "stopped by its parent")
	done := make(chan string, 1)
	go func() {
		command := "trap 'echo tidied; exit 0' TERM; touch up; while :; do sleep 0.01; done"
		res, err := k.tool("Bash").Run(ctx, call(t, k.tool("Bash"), in{"command": command}))
		if err != nil {
			t.Error(err)
		}
		done <- res.Text
	}()
	waitUntil(t, "the command", func() bool { _, err := os.Stat(k.dir + "/up"); return err == nil })
	cancel()
	if got := <-done; !strings.HasSuffix(got, "tidied") {
		t.Errorf("the result is %q", got)
	}
	k.gone()
}

// T8: a command leads a session of its own, so it has no terminal to ask at,
// and the keys pressed at the runtime's terminal do not reach it.
func TestACommandLeadsItsOwnSession(t *testing.T) {
	k := newKit(t)
	got := strings.Fields(k.ok("Bash", in{"command": "echo $$; cut -d' ' -f5,6,7 /proc/$$/stat"}))
	if len(got) != 4 || got[1] != got[0] || got[2] != got[0] || got[3] != "0" {
		t.Errorf("process, group, session and terminal are %v", got)
	}
}

// T3: a bounded fork bomb whose processes leave the session one after another.
func TestAForkBombIsEnded(t *testing.T) {
	k := newKit(t)
	bomb := `bomb() { [ $1 -gt 0 ] || { sleep 987; return; }; bomb $(($1-1)) & setsid sh -c 'sleep 987' & bomb $(($1-1)) & wait; }; bomb 5`
	k.refused("Bash", in{"command": bomb, "timeout": 700})
	k.gone()
}

func TestProcessSubstitutionMayFinish(t *testing.T) {
	k := newKit(t)
	k.ok("Bash", in{"command": "echo hello > >(cat >out)"})
	if got := k.content("out"); got != "hello\n" {
		t.Errorf("the substitution wrote %q", got)
	}
}

// T4: nothing is left as a zombie of this process.
func TestNoZombiesAreLeft(t *testing.T) {
	k := newKit(t)
	for range 5 {
		k.ok("Bash", in{"command": "true; (sleep 300 &); setsid sleep 300 >/dev/null 2>&1 &"})
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range stats {
		b, err := os.ReadFile(s)
		if err != nil {
			continue
		}
		fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		if fields[0] == "Z" && fields[1] == strconv.Itoa(os.Getpid()) {
			t.Errorf("a zombie: %s", b)
		}
	}
}

// A stranger without the marks is never killed.
func TestStrangersLive(t *testing.T) {
	stranger := exec.Command("sleep", "987")
	stranger.Env = []string{"SWARM_CALL=another", "XSWARM_SESSION=x"}
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := stranger.Process.Kill(); err != nil {
			t.Errorf("the stranger was killed: %v", err)
		}
		if err := stranger.Wait(); err == nil {
			t.Error("the stranger ended by itself")
		}
	}()
	k := newKit(t)
	k.ok("Bash", in{"command": "sleep 300 & true"})
	if n, err := Reap(k.session()); n != 0 || err != nil {
		t.Errorf("Reap = %d, %v", n, err)
	}
	if n, err := Reap("x"); n != 0 || err != nil {
		t.Errorf("Reap = %d, %v", n, err)
	}
}

const actAsRuntime = "SWARM_TEST_RUNTIME"

// actRuntime is the life of a runtime that will be killed: it starts commands
// in the background and in the foreground, then waits for its end.
func actRuntime(session string) {
	dir := os.Getenv("SWARM_TEST_DIR")
	tools := New(Env{Dir: dir, OutputDir: filepath.Join(dir, "out"), Session: session, Getenv: os.Getenv})
	ctx, bash := context.Background(), tools[5]
	run := func(input in) (tool.Result, error) {
		raw, err := json.Marshal(input)
		if err != nil {
			return tool.Result{}, err
		}
		return bash.Run(ctx, tool.Call{Name: "Bash", Input: raw})
	}
	for _, command := range []string{"sleep 987", "setsid sleep 987 & sleep 987", "(setsid sh -c 'sleep 987; true' >/dev/null 2>&1 &) ; sleep 987"} {
		if res, err := run(in{"command": command, "run_in_background": true}); err != nil || res.IsError {
			fmt.Fprintln(os.Stderr, res, err)
			os.Exit(1)
		}
	}
	res, err := run(in{"command": "touch ready; sleep 987"})
	fmt.Fprintln(os.Stderr, "the foreground command ended:", res, err)
	os.Exit(1)
}

// A runtime that is killed leaves no shell behind, and the next one finds what
// its shells had started.
func TestReapEndsWhatAKilledRuntimeLeft(t *testing.T) {
	needs(t, "setsid")
	dir, session := t.TempDir(), "reap-"+rand.Text()
	runtime := exec.Command(os.Args[0])
	runtime.Env = append(os.Environ(), actAsRuntime+"="+session, "SWARM_TEST_DIR="+dir)
	var stderr bytes.Buffer
	runtime.Stderr = &stderr
	if err := runtime.Start(); err != nil {
		t.Fatal(err)
	}
	entry := "SWARM_SESSION=" + session
	waitUntil(t, "the commands to run", func() bool {
		_, err := os.Stat(filepath.Join(dir, "ready"))
		return err == nil && len(taggedWith(t, entry)) >= 9
	})
	before := len(taggedWith(t, entry))
	if n, err := Reap(session); n != 0 || err != nil {
		t.Errorf("Reap under a living runtime = %d, %v; want 0", n, err)
	}
	if err := runtime.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := runtime.Wait(); err == nil || stderr.Len() > 0 {
		t.Fatalf("the runtime ended: %v\n%s", err, &stderr)
	}
	waitUntil(t, "the shells to follow their runtime", func() bool {
		for _, pid := range taggedWith(t, entry) {
			if cmdline, err := os.ReadFile(procFile(pid, "cmdline")); err == nil && bytes.Contains(cmdline, []byte("_swarm_line")) {
				return false
			}
		}
		return true
	})
	left := len(taggedWith(t, entry))
	if left == 0 || left >= before {
		t.Errorf("of %d processes %d are left: the shells should be gone, their children not", before, left)
	}
	killed, err := Reap(session)
	if err != nil || killed < left {
		t.Errorf("Reap = %d, %v; want %d", killed, err, left)
	}
	waitUntil(t, "all processes to die", func() bool { return len(taggedWith(t, entry)) == 0 })
	if _, err := Reap(""); err == nil {
		t.Error("Reap of no session gave no error")
	}
}

// Between its fork and its exec a child of the runtime has the runtime's files
// open, the lifelines of commands among them.
func TestCommandsOfTheRuntimeItselfLive(t *testing.T) {
	var spare []*os.File
	for range 12 { // so that lifelines get numbers around the one looked for
		f, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		spare = append(spare, f)
	}
	k := newKit(t)
	stop := make(chan struct{})
	var others sync.WaitGroup
	for range 3 {
		others.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := exec.CommandContext(t.Context(), "true").Run(); err != nil {
					t.Errorf("a bystander ended with: %v", err)
					return
				}
			}
		})
	}
	for i := range 16 {
		k.ok("Bash", in{"command": "sleep 60 & echo $!"})
		if i < len(spare) {
			if err := spare[i].Close(); err != nil {
				t.Error(err)
			}
		}
	}
	close(stop)
	others.Wait()
}

// A runtime that has ended and that nobody has collected yet runs no more: what
// its commands left is to be found at the next start, however soon that is.
func TestAnUncollectedRuntimeIsGone(t *testing.T) {
	cmd := exec.Command("/bin/cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	start, err := startTime(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	mark := fmt.Sprint(cmd.Process.Pid, ".", start)
	if !isRuntimeAlive(mark) {
		t.Error("a living runtime is not seen")
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	awaitEnd(cmd.Process.Pid)
	if isRuntimeAlive(mark) {
		t.Error("a runtime that has ended counts as living")
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}
