package main

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/actorswarm/swarm/internal/cli"
)

// waiting is a lead in a command that ends by itself only in five minutes. It
// closes started when the command runs.
const waiting = `rules:
  - when: {agent: lead, step: 0}
    say:
      calls:
        - tool: Bash
          input: {command: 'echo once >> ran.log'}
  - when: {agent: lead, step: 1}
    say:
      calls:
        - tool: Bash
          input: {command: 'echo twice >> ran.log; trap "" INT TERM; echo $$ > started; sleep 300 & sleep 300; wait'}
  - when: {agent: lead, text: 'in doubt'}
    say: {text: 'it was in doubt'}
  - when: {agent: lead, text: 'Go on'}
    say: {text: 'I went on'}
  - when: {agent: lead}
    say: {text: 'the command was cut'}
`

func startWaiting(t *testing.T) (*lab, *process) {
	l := newLab(t, map[string]string{"s.yaml": waiting})
	started := l.fifo("started")
	p := l.start("run", "--session-id", "one", "--model", "script:s.yaml", "--dangerously-skip-permissions", "wait")
	if pid := l.await(started); pid == "" {
		t.Fatal("the command has no number")
	}
	return l, p
}

func TestCtrlCOnceStopsTheLeadsTurnAndPrintsHowToGoOn(t *testing.T) {
	t.Parallel()
	l, p := startWaiting(t)
	p.signal(os.Interrupt)
	end := p.wait()
	if end.code != cli.ExitInterrupted || !strings.Contains(end.err, "interrupted; go on with: swarm resume one\n") {
		t.Errorf("exit %d, standard error:\n%s", end.code, end.err)
	}
	noneLeftOf(t, l)
	again := l.run("resume", "one")
	if again.code != 0 || again.out != "I went on\n" {
		t.Errorf("resume: %+v", again)
	}
}

func TestResumeOfARunningSessionNamesTheAlternatives(t *testing.T) {
	l, p := startWaiting(t)
	for _, args := range [][]string{{"resume", "one"}, {"run", "--continue", "more"}} {
		again := l.run(args...)
		if again.code != 1 || !strings.Contains(again.err, "session one runs in another process; join it: swarm attach one; write to it: swarm send --session one lead TEXT; follow it: swarm tail one\n") {
			t.Errorf("%q: %+v", args, again)
		}
	}
	p.signal(os.Interrupt)
	p.wait()
}

func TestCtrlCTwiceQuitsWithin2sAndLeavesNoProcess(t *testing.T) {
	l, p := startWaiting(t)
	begun := time.Now()
	p.signal(os.Interrupt)
	p.signal(os.Interrupt)
	end := p.wait()
	limit := 10 * time.Second // on a machine that is busy with other tests
	if os.Getenv("SWARM_SOAK") != "" {
		limit = 2 * time.Second
	}
	if took := time.Since(begun); took > limit {
		t.Errorf("it took %v", took)
	}
	if end.code != cli.ExitInterrupted || !strings.Contains(end.err, "swarm resume one\n") {
		t.Errorf("exit %d, standard error:\n%s", end.code, end.err)
	}
	noneLeftOf(t, l)
}

// The reader of a pipeline gets the same Ctrl-C.
func TestCtrlCWithoutAReaderPrintsHowToContinue(t *testing.T) {
	l := newLab(t, map[string]string{"s.yaml": waiting})
	started := l.fifo("started")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{l: l, cmd: l.command("run", "--output-format", "json", "--session-id", "one", "--model", "script:s.yaml", "--dangerously-skip-permissions", "wait")}
	p.cmd.Stdout, p.cmd.Stderr = w, &p.err
	if err := errors.Join(p.cmd.Start(), w.Close()); err != nil {
		t.Fatal(err)
	}
	l.await(started)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	p.signal(os.Interrupt)
	end := p.wait()
	if end.code != cli.ExitInterrupted || !strings.HasSuffix(end.err, "interrupted; go on with: swarm resume one\n") || strings.Contains(end.err, "broken pipe") {
		t.Errorf("exit %d, standard error:\n%s", end.code, end.err)
	}
}

func TestSIGTERMLeavesTheTurnOpen(t *testing.T) {
	t.Parallel()
	for _, s := range []struct {
		signal syscall.Signal
		code   int
	}{{syscall.SIGTERM, cli.ExitTerminated}, {syscall.SIGHUP, cli.ExitHungUp}} {
		l, p := startWaiting(t)
		p.signal(s.signal)
		end := p.wait()
		if end.code != s.code || !strings.Contains(end.err, "go on with: swarm resume one\n") {
			t.Errorf("%v: exit %d, standard error:\n%s", s.signal, end.code, end.err)
		}
		noneLeftOf(t, l)
		if ps := l.run("ps", "one"); !strings.Contains(ps.out, "paused") {
			t.Errorf("%v: the turn is not open: %s%s", s.signal, ps.out, ps.err)
		}
		if cut := l.run("result", "lead"); cut.code != 1 || !strings.Contains(cut.err, "it was cut; go on with: swarm resume one") {
			t.Errorf("%v: result: %+v", s.signal, cut)
		}
		again := l.run("resume", "one")
		if again.code != 0 || again.out == "" {
			t.Errorf("%v: resume: %+v", s.signal, again)
		}
		wantLines(l, "ran.log", "once", "twice")
	}
}

func TestKilledInMidTurnResumeGoesOnAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	l, p := startWaiting(t)
	p.signal(syscall.SIGKILL)
	p.wait()
	again := l.run("resume", "--dangerously-skip-permissions", "--output-format", "json")
	if again.code != 0 || !strings.Contains(again.out, `"result":"it was in doubt"`) || !strings.Contains(again.out, `"num_turns":1,`) {
		t.Errorf("resume: %+v", again)
	}
	if again.err != "" {
		t.Errorf("an open turn goes on by itself, without being told to: %s", again.err)
	}
	noneLeftOf(t, l)
	wantLines(l, "ran.log", "once", "twice")
	answers := 0
	for _, line := range l.lines(l.transcript("one", "lead")) {
		if strings.Contains(line, `"type":"assistant"`) {
			answers++
		}
	}
	if answers != 3 {
		t.Errorf("%d answers of the model, want 3: one before each command, one after the restart", answers)
	}
}

func noneLeftOf(t *testing.T, l *lab) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return // other processes' environments cannot be read
	}
	if left := marked(t, "PWD="+l.dir); len(left) > 0 {
		t.Errorf("left running: %v", left)
	}
}

func wantLines(l *lab, name string, want ...string) {
	l.Helper()
	got := l.lines(filepath.Join(l.dir, name))
	if strings.Join(got, " ") != strings.Join(want, " ") {
		l.Errorf("%s has %q, want %q", name, got, want)
	}
}

func TestAReaderThatLeavesEndsTheRunOrderly(t *testing.T) {
	t.Parallel()
	l := newLab(t, map[string]string{"s.yaml": waiting})
	started := l.fifo("started")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{l: l, cmd: l.command("run", "--session-id", "one", "--output-format", "stream-json",
		"--model", "script:s.yaml", "--dangerously-skip-permissions", "wait")}
	p.cmd.Stdout, p.cmd.Stderr = w, &p.err
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	l.await(started)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if sent := l.run("send", "lead", "so that something is written"); sent.code != 0 {
		t.Errorf("%+v", sent)
	}
	end := p.wait()
	if end.code != cli.ExitFailed || !strings.Contains(end.err, "swarm resume one") {
		t.Errorf("exit %d, standard error:\n%s", end.code, end.err)
	}
	noneLeftOf(t, l)
}
