package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// could runs an act bare and under a profile, and reports what it said.
func (l *lab) could(t *testing.T, m Machine, p Profile, script string) (bare, confined bool) {
	t.Helper()
	said := func(out string) bool { return strings.Contains("\n"+out, "\ncould\n") }
	return said(l.bare(script)), said(l.run(t, m, p, script))
}

func TestNoNetwork(t *testing.T) {
	tcp := listen(t, "tcp", "127.0.0.1:0")
	socket := filepath.Join(t.TempDir(), "s")
	listen(t, "unix", socket)
	listen(t, "unix", "@swarm-sandbox-test")
	for machine, m := range machines(t) {
		t.Run(machine, func(t *testing.T) {
			l := newLab(t)
			for _, script := range []string{
				acts("tcp", tcp), acts("udp", "127.0.0.1:9"), acts("unix", socket), acts("unix", "@swarm-sandbox-test"), acts("listen", ""),
			} {
				for n, want := range map[Name]bool{Inspect: false, Edit: false, Open: true} {
					if m.Enforces(n) != nil {
						continue
					}
					if bare, got := l.could(t, m, l.profile(n), script); !bare || got != want {
						t.Errorf("%s: bare %v, under %s %v, want true and %v", script, bare, n, got, want)
					}
				}
			}
			if _, got := l.could(t, m, l.profile(Inspect), acts("pair", "")); !got {
				t.Error("a pair of sockets is refused, which programs use to talk with their children")
			}
		})
	}
}

func listen(t *testing.T, network, at string) string {
	t.Helper()
	ln, err := net.Listen(network, at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
		}
	}()
	return ln.Addr().String()
}

func TestProcessesOutsideAreOutOfReach(t *testing.T) {
	for machine, m := range machines(t) {
		t.Run(machine, func(t *testing.T) {
			l := newLab(t)
			victim := exec.Command("/bin/sleep", "600")
			victim.Env = []string{"KEY=" + canary}
			if err := victim.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { victim.Process.Kill(); victim.Wait() })
			pid := fmt.Sprint(victim.Process.Pid)
			read := `tr '\0' '\n' < /proc/` + pid + `/environ`
			if !strings.Contains(l.bare(read), canary) {
				t.Fatal("without a sandbox its environment cannot be read either")
			}
			for _, n := range m.names() {
				if out := l.run(t, m, l.profile(n), read); strings.Contains(out, canary) {
					t.Errorf("under %s the environment is read", n)
				}
				for _, act := range []string{"ptrace", "memory", "signal"} {
					if act == "signal" && !m.Scopes {
						continue
					}
					bare, got := l.could(t, m, l.profile(n), acts(act, pid))
					if !bare || got {
						t.Errorf("%s: bare %v, under %s %v", act, bare, n, got)
					}
				}
				if m.Scopes { // without, this would end more than the test
					l.run(t, m, l.profile(n), "kill -9 "+pid+"; kill -9 -1 2>/dev/null")
				}
				if err := victim.Process.Signal(syscall.Signal(0)); err != nil {
					t.Fatalf("under %s it was killed: %v", n, err)
				}
				if bare, got := l.could(t, m, l.profile(n), acts("keyring", "")); !bare || got {
					t.Errorf("the keyring: bare %v, under %s %v", bare, n, got)
				}
			}
		})
	}
}

// TestDebuggersWorkWithinACommand: what a person has allowed may trace and signal its
// own children.
func TestDebuggersWorkWithinACommand(t *testing.T) {
	for machine, m := range machines(t) {
		t.Run(machine, func(t *testing.T) {
			l := newLab(t)
			_, got := l.could(t, m, l.profile(Open), `sleep 60 >/dev/null 2>&1 & sleep 0.05; `+acts("ptrace", "$!")+`; kill -9 $!`)
			if !got {
				t.Error("a command cannot trace its own child")
			}
			if out := l.run(t, m, l.profile(Open), `sleep 60 >/dev/null 2>&1 & kill $! && wait $!; echo $?`); !strings.Contains(out, "143") {
				t.Errorf("a command cannot signal its own child: %s", out)
			}
		})
	}
}

// daemons is how many processes leave their command in the everyday test.
func daemons() int {
	if os.Getenv("SWARM_SOAK") != "" {
		return 1000
	}
	return 20
}

// needs skips a test whose commands run programs that are not installed.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("%s is not installed: a command of the test runs it", p)
		}
	}
}

func TestDaemonsEndWithTheirScope(t *testing.T) {
	needs(t, "setsid", "seq")
	if !Probe().Scopes {
		t.Skipf("the kernel cannot: %v", Probe().Missing)
	}
	m, l, n := Probe(), newLab(t), daemons()
	kids := filepath.Join(l.temp, "kids")
	if err := os.Mkdir(kids, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, profile := range []Name{Open, Inspect} {
		p := l.profile(profile)
		p.Temp = l.temp
		// A shell makes most of them, which is quicker; this program the ones that a
		// shell cannot.
		script := fmt.Sprintf(`
			for i in $(seq %d); do
				(setsid env -i /bin/bash --norc -c 'trap "" TERM HUP INT; for fd in /proc/self/fd/*; do fd=${fd##*/}; [ "$fd" -gt 2 ] && eval "exec $fd>&-"; done 2>/dev/null
					exec >/dev/null 2>&1 </dev/null; echo $$ > '"$KIDS/$i"'; while :; do /bin/sleep 600; done' >/dev/null 2>&1 &)
			done
			for i in $(seq 5); do ACT=daemon ARG=1 PIDFILE="$KIDS/go$i" "$SELF" -test.run='^TestActs$' >/dev/null; done
			while [ $(ls "$KIDS" | wc -l) -lt %d ]; do sleep 0.05; done`, n, n+5)
		cmd := l.in(script)
		cmd.Env = append(cmd.Env, "KIDS="+kids)
		cmd.Stderr = os.Stderr
		proc, err := m.Start(cmd, p)
		if err != nil {
			t.Fatal(err)
		}
		if err := proc.Wait(); err != nil {
			t.Fatal(err)
		}
		pids := kidsIn(t, kids)
		if alive := living(pids); len(pids) != n+5 || alive != n+5 {
			t.Fatalf("%d daemons were made and %d live, want %d", len(pids), alive, n+5)
		}
		start := time.Now()
		killed, err := proc.KillAll()
		if err != nil || len(killed) < n+5 {
			t.Errorf("%d processes were killed, %v", len(killed), err)
		}
		for living(pids) > 0 && time.Since(start) < 20*time.Second {
			<-time.After(time.Millisecond)
		}
		if left := living(pids); left > 0 {
			t.Errorf("under %s %d daemons are left after %v", profile, left, time.Since(start))
		}
		left, err := proc.Left() // also what the daemons have started
		for ; len(left) > 0 && err == nil && time.Since(start) < 20*time.Second; left, err = proc.Left() {
			<-time.After(time.Millisecond)
		}
		if len(left) > 0 || err != nil {
			t.Errorf("the scope still has %v, %v", left, err)
		}
		t.Logf("under %s %d processes ended within %v", profile, len(killed), time.Since(start).Round(time.Millisecond))
		if err := proc.Close(); err != nil {
			t.Error(err)
		}
	}
}

func kidsIn(t *testing.T, dir string) (pids []int) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		raw, err := os.ReadFile(path)
		if err := errors.Join(err, os.Remove(path)); err != nil {
			t.Fatal(err)
		}
		pids = append(pids, number(strings.TrimSpace(string(raw))))
	}
	return pids
}

func living(pids []int) (n int) {
	for _, pid := range pids {
		if lives(pid) {
			n++
		}
	}
	return n
}

// TestAForkBombEndsWithItsScope: a command that forks as fast as it can is ended whole.
func TestAForkBombEndsWithItsScope(t *testing.T) {
	if !Probe().Scopes {
		t.Skipf("the kernel cannot: %v", Probe().Missing)
	}
	l := newLab(t)
	// Chains of processes of which each starts the next and ends.
	cmd := l.in(`c() { echo >> "$TMPDIR/links"; (c &) ; }; for i in 1 2 3 4; do (c &); done; sleep 0.3`)
	cmd.Env = append(cmd.Env, "TMPDIR="+l.temp)
	links := func() int64 {
		info, err := os.Stat(l.temp + "/links")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	proc, err := Start(cmd, l.profile(Open))
	if err != nil {
		t.Fatal(err)
	}
	if err := proc.Wait(); err != nil {
		t.Fatal(err)
	}
	before := links()
	for start := time.Now(); links() == before; {
		if time.Since(start) > 10*time.Second {
			t.Fatal("the chains do not go on by themselves")
		}
	}
	if _, err := proc.KillAll(); err != nil {
		t.Fatal(err)
	}
	for start := time.Now(); ; {
		left, err := proc.Left()
		if err != nil {
			t.Fatal(err)
		}
		if at := links(); len(left) == 0 && at == links() {
			break
		}
		if time.Since(start) > 2*time.Second {
			t.Fatalf("%d processes are left", len(left))
		}
	}
	at := links()
	<-time.After(50 * time.Millisecond) // many links of a chain that lives
	if now := links(); now != at {
		t.Errorf("after the end there were %d links more", now-at)
	}
	if err := proc.Close(); err != nil {
		t.Error(err)
	}
}

func TestEachDescendantIsMarked(t *testing.T) {
	needs(t, "setsid")
	if m, err := Marked(os.Getpid()); m || err != nil {
		t.Errorf("this process is marked: %v, %v", m, err)
	}
	free := exec.Command("/bin/sleep", "600")
	if err := free.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { free.Process.Kill(); free.Wait() })
	if m, err := Marked(free.Process.Pid); m || err != nil {
		t.Errorf("a child without a sandbox is marked: %v, %v", m, err)
	}
	if _, err := Marked(1 << 30); err == nil {
		t.Error("a process that is not there has marks")
	}
	ours, err := marksOf("self")
	if err != nil {
		t.Fatal(err)
	}
	for machine, m := range machines(t) {
		l := newLab(t)
		for _, n := range m.names() {
			cmd := l.in("setsid env -i /bin/bash --norc -c 'exec 9>&1; sleep 600 & echo $!; wait'")
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			proc, err := m.Start(cmd, l.profile(n))
			if err != nil {
				t.Fatal(err)
			}
			buf := make([]byte, 20)
			if _, err := out.Read(buf); err != nil {
				t.Fatal(err)
			}
			pids, err := proc.Left()
			if err != nil || len(pids) < 2 {
				t.Errorf("%s %s: the command has %v, %v", machine, n, pids, err)
			}
			for _, pid := range pids {
				if marked, err := Marked(pid); err != nil || !marked {
					theirs, err := marksOf(fmt.Sprint(pid))
					t.Errorf("%s %s: a descendant has %+v and we have %+v: %v", machine, n, theirs, ours, err)
				}
			}
			if _, err := proc.KillAll(); err != nil {
				t.Error(err)
			}
			_ = proc.Wait() // it was killed
			if err := proc.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestTheStarterStaysFree starts confined and free commands side by side.
func TestTheStarterStaysFree(t *testing.T) {
	machines(t)
	l := newLab(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 50 {
			proc, err := Start(l.in("true"), l.profile(Inspect))
			if err != nil {
				t.Error(err)
				return
			}
			if err := errors.Join(proc.Wait(), proc.Close()); err != nil {
				t.Error(err)
			}
		}
	}()
	for i := 0; ; i++ {
		out := l.bare(`cat ~/.ssh/id; grep -E 'NoNewPrivs|Seccomp:' /proc/self/status`)
		if !strings.Contains(out, canary) || strings.Contains(out, "NoNewPrivs:\t1") {
			t.Fatalf("a free command says %s", out)
		}
		if _, err := os.ReadFile(l.home + "/.ssh/id"); err != nil {
			t.Fatal(err)
		}
		select {
		case <-done:
			if i < 5 {
				t.Errorf("it was tried %d times only", i)
			}
			return
		default:
		}
	}
}

func TestWhatCannotBeEnforcedIsRefused(t *testing.T) {
	l := newLab(t)
	nothing := Machine{Missing: []string{"it is made up"}}
	for _, n := range []Name{Inspect, Edit} {
		_, err := nothing.Start(l.in("true"), l.profile(n))
		if e := new(UnenforcedError); !errors.As(err, &e) || e.Profile != n || !strings.Contains(err.Error(), "made up") {
			t.Errorf("%s: %v", n, err)
		}
	}
	noMounts := Machine{Landlock: 7, Seccomp: true}
	if err := noMounts.Enforces(Inspect); err != nil {
		t.Error(err)
	}
	if _, err := noMounts.Start(l.in("true"), l.profile(Edit)); err == nil {
		t.Error("edit runs where no name can be fixed")
	}
	if out := l.run(t, nothing, l.profile(Open), "echo it runs"); !strings.Contains(out, "it runs") {
		t.Errorf("open says %s", out)
	}
}

func TestLimitsHold(t *testing.T) {
	needs(t, "setsid", "seq", "stat")
	machines(t)
	l := newLab(t)
	for _, n := range Probe().names() {
		p := l.profile(n)
		p.Temp, p.Limits = l.temp, Limits{FileSize: 4096, OpenFiles: 50}
		out := l.run(t, Probe(), p, `ulimit -n; head -c 10000 /dev/zero > "$TMPDIR/big"; stat -c "%s bytes" "$TMPDIR/big"`)
		if !strings.HasPrefix(out, "50\n") || !strings.Contains(out, "4096 bytes") {
			t.Errorf("under %s it says %s", n, out)
		}
	}
}
