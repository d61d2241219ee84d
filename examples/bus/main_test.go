package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if os.Getenv("BUS_TEST_MAIN") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// process is one real process of this program.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Scanner
	errs bytes.Buffer
}

func launch(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(os.Args[0], args...)}
	p.cmd.Env = append(os.Environ(), "BUS_TEST_MAIN=1")
	p.cmd.Stderr = &p.errs
	in, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.in, p.out = in, bufio.NewScanner(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			p.kill()
		}
	})
	return p
}

func (p *process) expect(want string) {
	p.t.Helper()
	if !p.out.Scan() || p.out.Text() != want {
		p.t.Fatalf("got %q, want %q; errors: %s", p.out.Text(), want, p.errs.String())
	}
}

func (p *process) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	if err := p.cmd.Wait(); err == nil {
		p.t.Error("the process ended by itself")
	}
}

func (p *process) end() {
	p.t.Helper()
	if err := p.in.Close(); err != nil {
		p.t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		p.t.Fatalf("%v; errors: %s", err, p.errs.String())
	}
}

func TestBusOnceAcrossKills(t *testing.T) {
	dir, err := os.MkdirTemp("", "bus") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	out, socket := filepath.Join(dir, "bob.txt"), filepath.Join(dir, "run", "s")
	serve := func() *process {
		p := launch(t, "serve", "-dir", filepath.Join(dir, "b"), "-socket", socket, "-agent", "bob", "-out", out)
		p.expect("serving")
		return p
	}
	poster := func() *process {
		return launch(t, "post", "-dir", filepath.Join(dir, "a"), "-socket", socket, "-from", "ann", "-to", "bob")
	}
	next := 0
	write := func(p *process, n int) {
		t.Helper()
		for range n {
			line := fmt.Sprintf("line %d", next)
			next++
			if _, err := fmt.Fprintln(p.in, line); err != nil {
				t.Fatal(err)
			}
			p.expect("accepted " + line)
		}
	}

	server, ann := serve(), poster()
	for range 3 {
		write(ann, 50)
		server.kill() // the server and the receiver, in mid-stream
		write(ann, 10)
		server = serve()
	}
	server.kill()
	write(ann, 30) // accepted while nobody is there
	ann.kill()
	server = serve()
	ann = poster()
	write(ann, 5)
	ann.end() // waits until all is read
	server.kill()

	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(got), "\n"), "\n")
	for i, line := range lines {
		if _, body, _ := strings.Cut(line, " "); body != fmt.Sprintf("line %d", i) {
			t.Fatalf("in the place of line %d is %q", i, body)
		}
	}
	if len(lines) != next {
		t.Errorf("%d lines received of %d", len(lines), next)
	}
}

func TestRunSaysWhatIsWrong(t *testing.T) {
	for _, args := range [][]string{
		nil,
		{"dance"},
		{"post", "-nonsense"},
		{"post", "-dir", t.TempDir(), "-socket", "/nonexistent"},
		{"serve", "-dir", t.TempDir(), "-socket", "/nonexistent/x", "-out", "/nonexistent/y"},
	} {
		done := make(chan error, 1)
		go func() { done <- run(t.Context(), args, strings.NewReader(""), io.Discard) }()
		select {
		case err := <-done:
			if err == nil {
				t.Errorf("%v was accepted", args)
			}
		case <-time.After(20 * time.Second):
			t.Fatal(errors.New("run does not return"))
		}
	}
}
