package chaos

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
)

func TestMain(m *testing.M) {
	if role := os.Getenv("SWARM_CHAOS_ROLE"); role != "" {
		live := func(dir string) error { return run(role, dir) }
		if role == "outside" {
			live = runOutside
		}
		if err := live(os.Getenv("SWARM_CHAOS_DIR")); err != nil {
			fmt.Fprintln(os.Stderr, role+":", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestPromise1_NothingIsLostWhileEveryProcessIsKilled is the harness. Its sizes
// are those of make test, or with SWARM_CHAOS=1 those of make chaos.
func TestPromise1_NothingIsLostWhileEveryProcessIsKilled(t *testing.T) {
	messages, kills := 600, 12
	if os.Getenv("SWARM_CHAOS") != "" {
		messages, kills = 100_000, 1_000
	}
	dir, err := os.MkdirTemp("", "chaos") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the files are kept in %s", dir)
		} else if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	s := &supervisor{T: t, dir: dir, each: messages / len(agents), kills: kills}
	begun := time.Now()
	s.run()
	t.Logf("%d messages, %d kills in %v: %v", messages, s.killed(), time.Since(begun).Round(time.Second), s.count)
	s.check()
}

// supervisor owns the three processes.
type supervisor struct {
	*testing.T
	dir   string
	each  int // messages of each agent
	kills int
	count map[string]int // kills of a process that was at work, by role
}

func (s *supervisor) killed() (n int) {
	for _, k := range s.count {
		n += k
	}
	return n
}

var roles = []string{"owner", "node", "client"}

func (s *supervisor) run() {
	s.count = map[string]int{}
	if err := os.MkdirAll(filepath.Join(s.dir, "run"), 0o700); err != nil {
		s.Fatal(err)
	}
	s.allow()
	procs := map[string]*process{}
	for _, role := range roles {
		procs[role] = s.start(role)
	}
	defer func() {
		for _, p := range procs {
			p.kill()
		}
	}()
	rng := rand.New(rand.NewPCG(uint64(s.kills), 7))
	for s.killed() < s.kills {
		role := roles[rng.IntN(len(roles))]
		if s.count[role] > s.kills/len(roles)+s.kills/10 {
			continue // the others' turn
		}
		p := procs[role]
		s.await(p, "busy")
		time.Sleep(time.Duration(rng.IntN(40)) * time.Millisecond) // somewhere in the middle of it
		p.kill()
		s.count[role]++
		s.allow()
		procs[role] = s.start(role)
	}
	for _, role := range roles {
		s.await(procs[role], "done")
	}
}

// allow lets the agents send as much of their messages as kills have been made,
// so that the last message comes with the last kill.
func (s *supervisor) allow() {
	n := s.each * (s.killed() + 1) / (s.kills + 1)
	if s.killed() == s.kills {
		n = s.each
	}
	path := filepath.Join(s.dir, "allow")
	err := os.WriteFile(path+".new", fmt.Appendf(nil, "%d %d", n, s.each), 0o600)
	if err := errors.Join(err, os.Rename(path+".new", path)); err != nil {
		s.Fatal(err)
	}
}

// process is one of the three, in one of its lives.
type process struct {
	role  string
	cmd   *exec.Cmd
	mu    sync.Mutex
	said  map[string]bool
	news  chan struct{} // one pending signal
	ended chan struct{}
}

func (s *supervisor) start(role string) *process {
	p := &process{role: role, said: map[string]bool{}, news: make(chan struct{}, 1), ended: make(chan struct{})}
	p.cmd = exec.Command(os.Args[0])
	p.cmd.Env = append(os.Environ(), "SWARM_CHAOS_ROLE="+role, "SWARM_CHAOS_DIR="+s.dir)
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		s.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		s.Fatal(err)
	}
	go p.listen(bufio.NewScanner(out))
	return p
}

func (p *process) listen(lines *bufio.Scanner) {
	defer close(p.ended)
	for lines.Scan() {
		p.mu.Lock()
		p.said[lines.Text()] = true
		p.mu.Unlock()
		select {
		case p.news <- struct{}{}:
		default:
		}
	}
}

func (p *process) has(word string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said[word] || p.said["done"]
}

// await waits until a process has printed a word; one that is done prints no other.
func (s *supervisor) await(p *process, word string) {
	deadline := time.After(90 * time.Second)
	for !p.has(word) {
		select {
		case <-p.news:
		case <-p.ended:
			s.Fatalf("the %s has ended by itself", p.role)
		case <-deadline:
			s.Fatalf("the %s was never %s", p.role, word)
		}
	}
}

// kill ends the process and reaps it.
func (p *process) kill() {
	p.cmd.Process.Kill() //nolint:errcheck // it may have ended
	<-p.ended
	p.cmd.Wait() //nolint:errcheck // killed, as it should be
}

// check reads every conversation from disk.
func (s *supervisor) check() {
	sent := map[string]int{}
	for _, a := range agents {
		sent[a] = progress(s.dir, a)
		if sent[a] < s.each {
			s.Errorf("%s sent %d of %d", a, sent[a], s.each)
		}
	}
	for _, role := range []string{"owner", "node"} {
		store, err := transcript.Open(s.Context(), filepath.Join(s.dir, role), space, transcript.Options{Journal: journal.Options{ReadOnly: true}, NoLines: true})
		if err != nil {
			s.Fatal(err)
		}
		for _, a := range hosted(role) {
			t, ok := store.Get(mailbox.AgentID(a))
			if !ok {
				s.Fatalf("%s has no transcript", a)
			}
			s.checkOne(t, sent)
		}
		if err := store.Close(); err != nil {
			s.Error(err)
		}
	}
}

var number = regexp.MustCompile(`#(\w+)>(\w+):(\d+)#`)

// checkOne finds each message that was accepted for an agent once and in order.
func (s *supervisor) checkOne(t *transcript.Transcript, sent map[string]int) {
	msgs, err := t.Messages()
	if err != nil {
		s.Fatal(err)
	}
	me, got := string(t.ID()), map[string]int{}
	for _, m := range msgs {
		for _, found := range number.FindAllStringSubmatch(string(m.Raw()), -1) {
			from, to := found[1], found[2]
			n, err := strconv.Atoi(found[3])
			if err != nil || to != me {
				s.Fatalf("%s has %s", me, found[0])
			}
			if want := nth(from, me, got[from]); n != want {
				s.Errorf("%s: message %d of %s came where %d was due", me, n, from, want)
				return
			}
			got[from]++
		}
	}
	for _, from := range agents {
		want := 0
		for i := range sent[from] {
			if target(from, i) == me {
				want++
			}
		}
		if got[from] != want {
			s.Errorf("%s has %d of the %d messages that %s had accepted", me, got[from], want, from)
		}
	}
}

// nth returns the number of the k-th message from one agent to another.
func nth(from, to string, k int) int {
	for i := 0; ; i++ {
		if target(from, i) == to {
			if k--; k < 0 {
				return i
			}
		}
	}
}

func progress(dir, agent string) int {
	raw, err := os.ReadFile(filepath.Join(dir, "sent."+agent))
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		return 0
	}
	return n
}
