package mcpclient

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/actorswarm/swarm/internal/childenv"
	"github.com/actorswarm/swarm/internal/sandbox"
	"github.com/actorswarm/swarm/internal/term"
)

const (
	maxLine  = 16 << 20 // of one message
	maxNoise = 16 << 20 // of what is printed between messages
	// endGrace is how long a server has to end by itself when its input ends.
	endGrace = time.Second
)

// process is a server that runs as a program.
type process struct {
	cmd    *exec.Cmd
	proc   *sandbox.Process
	stdin  io.WriteCloser
	stdout *messages
	stderr *tail
	ended  chan struct{}
	err    error // how it ended; set before ended is closed
}

// startProcess starts the program of a server.
func startProcess(s Server, o Options) (p *process, err error) {
	cmd := exec.Command(s.Command, s.Args...)
	cmd.Dir, cmd.Env = o.Dir, childenv.Of(o.Getenv, nil)
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		cmd.Env = append(cmd.Env, name+"="+s.Env[name])
	}
	cmd.Env = append(append(cmd.Env, "CLAUDE_PROJECT_DIR="+o.Dir), o.Env...)
	// A session of its own has no terminal, and a process group that can be ended.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.WaitDelay = endGrace
	in, stdin, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	stdout, out, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close(), stdin.Close())
	}
	p = &process{cmd: cmd, stdin: stdin, stdout: newMessages(stdout), stderr: &tail{}, ended: make(chan struct{})}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, p.stderr
	p.proc, err = sandbox.Start(cmd, o.Place.Profile(sandbox.Open))
	if err = errors.Join(err, in.Close(), out.Close()); err != nil {
		return nil, errors.Join(err, stdin.Close(), stdout.Close())
	}
	return p, nil
}

// wait waits for the program and then ends what it has started.
func (p *process) wait() {
	err := p.proc.Wait()
	if killErr := syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL); killErr != nil && !errors.Is(killErr, syscall.ESRCH) && !errors.Is(killErr, syscall.EPERM) {
		err = errors.Join(err, killErr)
	}
	_, killErr := p.proc.KillAll()
	p.err = errors.Join(err, killErr, p.proc.Close())
	close(p.ended)
}

// end ends the program: it gets the end of its input, and is killed if it goes on.
func (p *process) end() {
	closed := p.stdin.Close() // an error only repeats that it is closed
	timer := time.NewTimer(endGrace)
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-timer.C:
		// The program has not been waited for, so the number is still its own.
		if err := syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL); err != nil && closed == nil {
			p.stderr.note(err.Error())
		}
		<-p.ended
	}
	p.stdout.Close()
}

// how says in a few words how the program ended, with the last line that it printed.
func (p *process) how() string {
	select {
	case <-p.ended:
	default:
		return p.stderr.line()
	}
	text := "it ended"
	if p.err != nil {
		text += " (" + p.err.Error() + ")"
	}
	if line := p.stderr.line(); line != "" {
		text += ": " + line
	}
	return text
}

func (p *process) transport() mcp.Transport {
	return &mcp.IOTransport{Reader: p.stdout, Writer: p.stdin, MaxLineLength: maxLine}
}

// messages reads the lines that are messages and skips all others.
type messages struct {
	in    *bufio.Reader
	close func() error
	rest  []byte
	noise int

	mu  sync.Mutex
	why error // guarded by mu
}

func newMessages(in io.ReadCloser) *messages {
	return &messages{in: bufio.NewReaderSize(in, 64<<10), close: sync.OnceValue(in.Close)}
}

func (m *messages) Close() error { return m.close() }

func (m *messages) Read(b []byte) (int, error) {
	for len(m.rest) == 0 {
		line, err := m.next()
		if err != nil {
			m.mu.Lock()
			m.why = err
			m.mu.Unlock()
			return 0, err
		}
		m.rest = line
	}
	n := copy(b, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// reason returns why nothing more can be read, or nil.
func (m *messages) reason() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if errors.Is(m.why, io.EOF) || errors.Is(m.why, os.ErrClosed) {
		return nil
	}
	return m.why
}

// next returns the next line if it is a message, and else nothing.
func (m *messages) next() (line []byte, err error) {
	noise := false
	for first := true; ; first = false {
		part, err := m.in.ReadSlice('\n')
		if first {
			start := bytes.TrimLeft(part, " \t\r\n")
			noise = len(start) == 0 || start[0] != '{' && start[0] != '['
		}
		switch {
		case noise:
			if m.noise += len(part); m.noise > maxNoise {
				return nil, fmt.Errorf("it printed more than %d MiB that are no messages", maxNoise>>20)
			}
		case len(line)+len(part) > maxLine:
			return nil, fmt.Errorf("it sent a message of more than %d MiB", maxLine>>20)
		default:
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// maxTail is how much is kept of what a server prints on its standard error.
const maxTail = 4 << 10

// tail keeps the end of a text.
type tail struct {
	mu   sync.Mutex
	text []byte // guarded by mu
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b[max(0, len(b)-maxTail):]...)
	t.text = slices.Clone(t.text[max(0, len(t.text)-maxTail):])
	return len(b), nil
}

func (t *tail) note(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, "\n"+text...)
}

// line returns the last line that is not empty.
func (t *tail) line() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(string(t.text))
	return term.Cut(term.Clean(strings.TrimSpace(text[strings.LastIndex(text, "\n")+1:])), 300)
}
