package main

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// detaching is a lead with children whose shells leave two processes each in
// sessions of their own, deaf to every polite signal, and go on themselves. Named
// children are teammates.
func detaching(children int, named bool) string {
	var s strings.Builder
	s.WriteString("rules:\n  - when: {agent: lead, step: 0}\n    say:\n      calls:\n")
	for i := range children {
		name := ""
		if named {
			name = fmt.Sprintf("name: m%d, ", i)
		}
		s.WriteString("        - {tool: Agent, input: {" + name + "description: d, prompt: p}}\n")
	}
	s.WriteString(`  - when: {agent: general-purpose, step: 0}
    say:
      calls:
        - tool: Bash
          input:
            command: |
              trap '' HUP INT TERM
              (setsid sh -c 'trap "" HUP INT TERM; env -i setsid -f sleep 300; echo up > up; sleep 300' </dev/null >/dev/null 2>&1 &)
              sleep 300
  - say: {text: done}
`)
	return s.String()
}

// ways are what may end a run, each with what the user does after it.
var ways = []struct {
	name string
	end  func(*process)
	next bool // the processes need only be gone after the next start
}{
	{"SIGINT", func(p *process) { p.signal(os.Interrupt); p.wait() }, false},
	{"SIGHUP", func(p *process) { p.signal(syscall.SIGHUP); p.wait() }, false},
	{"SIGKILL", func(p *process) { p.signal(syscall.SIGKILL); p.wait() }, true},
}

// TestPromise4_NoEndOfARunLeavesAProcess ends runs whose agents have children
// that left their shells, in every way a run can end: 5 s later, or after the
// next start, none of their processes is there.
func TestPromise4_NoEndOfARunLeavesAProcess(t *testing.T) {
	t.Parallel()
	agents, rounds := 6, 1
	if os.Getenv("SWARM_SOAK") != "" {
		agents, rounds = 50, 20
	}
	for round := range rounds {
		for _, way := range ways {
			t.Run(fmt.Sprint(way.name, "/", round), func(t *testing.T) {
				l, session := newOrphans(t, agents, false)
				p := l.start(strings.Fields(l.detached(session))...)
				l.awaitAll(agents)
				way.end(p)
				if way.next {
					l.run("resume", session)
				}
				l.noneAfter5s(session)
			})
		}
		t.Run(fmt.Sprint("terminal close/", round), func(t *testing.T) {
			l, session := newOrphans(t, agents, false)
			l.closeTerminal(l.detached(session), agents)
			l.noneAfter5s(session)
		})
	}
}

// TestProblem13_NoTeammatesProcessIsOrphaned is the same for teammates that have
// processes of their own: those too are gone, and what their shells left. Where
// the session's owner alone is killed they go on, the next owner takes them over,
// and they end with it.
func TestProblem13_NoTeammatesProcessIsOrphaned(t *testing.T) {
	t.Parallel()
	agents, rounds := 3, 1
	if os.Getenv("SWARM_SOAK") != "" {
		agents, rounds = 50, 20
	}
	for round := range rounds {
		for _, way := range []struct {
			name string
			end  func(l *orphans, session string, p *process)
		}{
			{"SIGINT", func(_ *orphans, _ string, p *process) { p.signal(os.Interrupt); p.wait() }},
			{"SIGHUP", func(_ *orphans, _ string, p *process) { p.signal(syscall.SIGHUP); p.wait() }},
			{"owner killed", func(l *orphans, session string, p *process) {
				p.signal(syscall.SIGKILL)
				p.wait()
				if n := len(l.teammates(session)); n != agents {
					t.Errorf("%d of %d teammates outlived the owner", n, agents)
				}
				next := l.start("resume", session)
				l.awaitServed(session)
				next.signal(os.Interrupt)
				next.wait()
			}},
			{"all killed", func(l *orphans, session string, p *process) {
				p.signal(syscall.SIGKILL)
				for _, pid := range l.teammates(session) {
					if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
						t.Error(err)
					}
				}
				p.wait()
				if e := l.run("resume", session); e.code != 0 {
					t.Errorf("resume: %+v", e)
				}
			}},
		} {
			t.Run(fmt.Sprint(way.name, "/", round), func(t *testing.T) {
				l, session := newOrphans(t, agents, true)
				p := l.start(append(strings.Fields(l.detached(session)), "--teammate-mode", "process")...)
				l.awaitAll(agents)
				way.end(l, session, p)
				l.noneAfter5s(session)
			})
		}
		t.Run(fmt.Sprint("terminal close/", round), func(t *testing.T) {
			l, session := newOrphans(t, agents, true)
			l.closeTerminal(l.detached(session)+" --teammate-mode process", agents)
			l.noneAfter5s(session)
		})
	}
}

// closeTerminal runs swarm in a terminal and closes it once its agents are there.
func (l *orphans) closeTerminal(command string, agents int) {
	l.Helper()
	p := openWindow(l.lab, 100, 40, "swarm "+command)
	l.awaitAll(agents)
	p.tmux("new-session", "-d", "-c", "/", "cat") // the server goes with its last session, and is to be ended later
	p.tmux("kill-session", "-t", "0")
}

// teammates returns the processes of a session's agents.
func (l *orphans) teammates(session string) (pids []int) {
	l.Helper()
	for _, p := range l.inside(session) {
		if number, cmd, _ := strings.Cut(p, " "); strings.Contains(cmd, " teammate --agent-id ") {
			pid, err := strconv.Atoi(number)
			if err != nil {
				l.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	return pids
}

// awaitServed returns when the session's owner answers other processes.
func (l *orphans) awaitServed(session string) {
	l.Helper()
	limit := time.Now().Add(20 * time.Second)
	for !strings.Contains(l.run("ps", "--format", "json").out, `"running":true`) {
		if time.Now().After(limit) {
			l.Fatal("the session has no owner again")
		}
	}
}

// orphans is a lab for runs of detaching.
type orphans struct {
	*lab
	up *bufio.Scanner // a line for each agent whose processes are all there
}

func newOrphans(t *testing.T, agents int, named bool) (*orphans, string) {
	t.Helper()
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("setsid is not installed: it is needed to start a process that leaves its session")
	}
	l := newLab(t, map[string]string{"s.yaml": detaching(agents, named)})
	l.env = append(l.env, "CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS=50")
	f, err := os.OpenFile(l.fifo("up"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := f.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return &orphans{l, bufio.NewScanner(f)}, "orphans-" + strings.ToLower(rand.Text())
}

func (l *orphans) detached(session string) string {
	return "run --session-id " + session + " --model script:s.yaml --dangerously-skip-permissions go"
}

func (l *orphans) awaitAll(agents int) {
	l.Helper()
	for i := range agents {
		if !l.up.Scan() {
			l.Fatalf("%d of %d agents have their processes: %v", i, agents, l.up.Err())
		}
	}
}

// noneAfter5s fails if 5 s from now a process is there that carries the session's
// mark or works in the lab's directory.
func (l *orphans) noneAfter5s(session string) {
	l.Helper()
	var left []string
	for limit := time.Now().Add(5 * time.Second); time.Now().Before(limit); {
		if left = l.inside(session); len(left) == 0 {
			return
		}
	}
	l.Errorf("%d processes are left: %q", len(left), left)
	for _, p := range left {
		var pid int
		if _, err := fmt.Sscanf(p, "%d", &pid); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may end by itself meanwhile
		}
	}
}

func (l *orphans) inside(session string) (all []string) {
	l.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		l.Fatal(err)
	}
	for _, dir := range dirs {
		env, _ := os.ReadFile(dir + "/environ") // gone, or not ours
		cwd, _ := os.Readlink(dir + "/cwd")
		if cwd == l.dir || strings.Contains(string(env), "SWARM_SESSION="+session+"\x00") {
			if cmd, _ := os.ReadFile(dir + "/cmdline"); !strings.HasPrefix(string(cmd), "tmux") {
				all = append(all, filepath.Base(dir)+" "+strings.ReplaceAll(string(cmd), "\x00", " "))
			}
		}
	}
	return all
}
