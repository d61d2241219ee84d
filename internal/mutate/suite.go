package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

type verdict string

const (
	killed    verdict = "killed"
	timedOut  verdict = "timed out"
	survived  verdict = "survived"
	unreached verdict = "unreached" // it survived, and no test reached it
	invalid   verdict = "invalid"
)

// A suite is the tests of one package with their coverage.
type suite struct {
	dir   string // of the package, absolute
	tmp   string
	flags []string // for the tests
	tests []test
}

type test struct {
	name    string
	took    time.Duration
	reaches []span
}

type span struct {
	file                             string // its base name: a package is one directory
	fromLine, fromCol, toLine, toCol int
}

func (s span) holds(m mutant) bool {
	if s.file != filepath.Base(m.file) {
		return false
	}
	from := m.line > s.fromLine || m.line == s.fromLine && m.col >= s.fromCol
	to := m.line < s.toLine || m.line == s.toLine && m.col <= s.toCol
	return from && to
}

// goFiles returns the files of the package in dir that this system builds.
func goFiles(dir string) ([]string, error) {
	cmd := exec.Command("go", "list", "-json=Dir,GoFiles", ".")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list the package: %w", err)
	}
	var p struct {
		Dir     string
		GoFiles []string
	}
	if err := json.Unmarshal(out, &p); err != nil {
		return nil, err
	}
	for i, f := range p.GoFiles {
		p.GoFiles[i] = filepath.Join(p.Dir, f)
	}
	return p.GoFiles, nil
}

// newSuite runs each test alone, without a mutant, to measure its coverage and its time. A
// test that fails then is left out.
func newSuite(ctx context.Context, dir string) (_ *suite, err error) {
	s := &suite{}
	if s.dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	if s.tmp, err = os.MkdirTemp("", "mu"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	exe := filepath.Join(s.tmp, "cover.test")
	if out, err := s.command(ctx, "go", "test", "-c", "-cover", "-vet=off", "-o", exe, ".").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the tests: %w\n%s", err, out)
	}
	list, err := s.command(ctx, exe, "-test.list", "^(Test|Fuzz|Example)").Output()
	if err != nil {
		return nil, fmt.Errorf("list the tests: %w", err)
	}
	// rapid stores failing cases, which are of no use here, beside the tests.
	if help, _ := s.command(ctx, exe, "-help").CombinedOutput(); strings.Contains(string(help), "rapid.nofailfile") {
		s.flags = []string{"-rapid.nofailfile"}
	}
	for name := range strings.FieldsSeq(string(list)) {
		t, err := s.measure(ctx, exe, name)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			fmt.Printf("note: %s fails without a mutant and is left out: %v\n", name, err)
			continue
		}
		s.tests = append(s.tests, t)
	}
	return s, nil
}

func (s *suite) close() {
	if err := os.RemoveAll(s.tmp); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
	}
}

// command returns a command that is ended together with its child processes.
func (s *suite) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

func (s *suite) measure(ctx context.Context, exe, name string) (test, error) {
	profile := filepath.Join(s.tmp, "profile")
	start := time.Now()
	out, err := s.command(ctx, exe, "-test.run", "^"+name+"$", "-test.coverprofile", profile, "-test.timeout", "10m").CombinedOutput()
	if err != nil {
		return test{}, fmt.Errorf("%w\n%s", err, out)
	}
	t := test{name: name, took: time.Since(start)}
	raw, err := os.ReadFile(profile)
	if err != nil {
		return test{}, err
	}
	t.reaches, err = spans(raw)
	return t, err
}

var profileLine = regexp.MustCompile(`([^/]+\.go):(\d+)\.(\d+),(\d+)\.(\d+) \d+ (\d+)$`)

// spans reads the covered places from a coverage profile.
func spans(profile []byte) (all []span, err error) {
	lines := bufio.NewScanner(bytes.NewReader(profile))
	for lines.Scan() {
		m := profileLine.FindStringSubmatch(lines.Text())
		if m == nil || m[6] == "0" {
			continue
		}
		s := span{file: m[1]}
		for i, to := range []*int{&s.fromLine, &s.fromCol, &s.toLine, &s.toCol} {
			if *to, err = strconv.Atoi(m[i+2]); err != nil {
				return nil, err
			}
		}
		all = append(all, s)
	}
	return all, lines.Err()
}

// reaching returns the tests that reach the place of m, and their time.
func (s *suite) reaching(m mutant) (names []string, took time.Duration) {
	for _, t := range s.tests {
		for _, r := range t.reaches {
			if r.holds(m) {
				names = append(names, t.name)
				took += t.took
				break
			}
		}
	}
	return names, took
}

// try builds the tests with the mutant and runs those that reach it. If none does it runs
// all, since a child process of a test may.
func (s *suite) try(ctx context.Context, m mutant) verdict {
	tmp, err := os.MkdirTemp(s.tmp, "")
	if err != nil {
		return invalid
	}
	defer os.RemoveAll(tmp)
	exe := filepath.Join(tmp, "mutant.test")
	if err := s.build(ctx, m, tmp, exe); err != nil {
		return invalid
	}
	names, took := s.reaching(m)
	reached := len(names) > 0
	if !reached {
		for _, t := range s.tests {
			names, took = append(names, t.name), took+t.took
		}
	}
	limit := 20*time.Second + 5*took
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := s.command(ctx, exe, slices.Concat(s.flags, []string{"-test.failfast", "-test.run", "^(" + strings.Join(names, "|") + ")$"})...)
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp) // so that leftovers of a killed process are removed
	err = cmd.Run()
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return timedOut
	case err != nil:
		return killed
	case !reached:
		return unreached
	}
	return survived
}

func (s *suite) build(ctx context.Context, m mutant, tmp, exe string) error {
	src, err := os.ReadFile(m.file)
	if err != nil {
		return err
	}
	if m.to > len(src) || string(src[m.from:m.to]) != m.was {
		return fmt.Errorf("%s has changed since the mutants were drawn", m.file)
	}
	changed := filepath.Join(tmp, filepath.Base(m.file))
	if err := os.WriteFile(changed, m.apply(src), 0o600); err != nil {
		return err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{m.file: changed}})
	if err != nil {
		return err
	}
	file := filepath.Join(tmp, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		return err
	}
	return s.command(ctx, "go", "test", "-c", "-vet=off", "-overlay", file, "-o", exe, ".").Run()
}
