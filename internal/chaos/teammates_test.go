package chaos

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The other harness has the program itself: swarm serve with a lead, teammates in
// tmux panes, and a program outside that speaks NATS. Their models are scripts:
// in each step an agent writes to every other, with the number of the step, and
// several times in the long run.

// TestPromise1_TeammatesInPanesLoseNothing kills the owner of a session, the
// processes of its teammates and a client outside. With SWARM_CHAOS=1 it is the
// long run; SWARM_CHAOS_KILLS, SWARM_CHAOS_STEPS and SWARM_CHAOS_BURST set other
// sizes.
func TestPromise1_TeammatesInPanesLoseNothing(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not here")
	}
	c := &cluster{T: t, mates: 3, steps: 20, burst: 2, kills: 6, pause: 300 * time.Millisecond}
	if os.Getenv("SWARM_CHAOS") != "" {
		c.mates, c.steps, c.burst, c.kills, c.pause = 8, 225, 5, 1000, 2500*time.Millisecond
	}
	c.steps, c.burst, c.kills = size("SWARM_CHAOS_STEPS", c.steps), size("SWARM_CHAOS_BURST", c.burst), size("SWARM_CHAOS_KILLS", c.kills)
	begun := time.Now()
	c.open()
	c.harm()
	c.awaitRest()
	c.count.log(t, "killed")
	t.Logf("%d kills in %v", c.count.sum(), time.Since(begun).Round(time.Second))
	for _, role := range roles {
		if c.count[role] == 0 {
			t.Errorf("no %s was killed", role)
		}
	}
	c.check()
}

func size(name string, def int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return def
}

type counts map[string]int

func (c counts) sum() (n int) {
	for _, k := range c {
		n += k
	}
	return n
}

func (c counts) log(t *testing.T, what string) {
	for _, k := range slices.Sorted(maps.Keys(c)) {
		t.Logf("%s %s: %d", what, k, c[k])
	}
}

const session = "chaos"

// cluster is a session with its processes.
type cluster struct {
	*testing.T
	mates, steps, kills int
	burst               int           // messages to each other agent in a step
	pause               time.Duration // of the models

	exe, dir, path, addr, seed string // path: of the session's files
	owner, client              *exec.Cmd
	count                      counts
}

func (c *cluster) names() []string {
	all := []string{"team-lead"}
	for i := range c.mates {
		all = append(all, fmt.Sprint("b", i))
	}
	return append(all, "c0")
}

// script is what all models answer.
func (c *cluster) script() string {
	var s strings.Builder
	s.WriteString("rules:\n  - when: {agent: lead, step: 0}\n    say:\n      calls:\n")
	for i := range c.mates {
		fmt.Fprintf(&s, "        - {tool: Agent, input: {name: b%d, description: d, prompt: begin}}\n", i)
	}
	for _, from := range c.names()[:c.mates+1] {
		agent := strings.TrimPrefix(from, "team-")
		fmt.Fprintf(&s, "  - when: {agent: %s, step: \"0-%d\"}\n    say:\n      delay: %v\n      calls:\n", agent, c.steps, c.pause)
		for n := range c.burst {
			for _, to := range c.names() {
				if to != from {
					fmt.Fprintf(&s, "        - {tool: SendMessage, input: {to: %s, message: '#%s>%s:{{.Step}}.%d#'}}\n", to, from, to, n)
				}
			}
		}
	}
	s.WriteString("  - say: {text: ok}\n")
	return s.String()
}

// open brings the session up and lets its agents begin.
func (c *cluster) open() {
	c.count = counts{}
	dir, err := os.MkdirTemp("", "chaos") // t.TempDir is too long for a socket
	if err != nil {
		c.Fatal(err)
	}
	c.dir, c.exe = dir, filepath.Join(dir, "swarm")
	if out, err := exec.Command("go", "build", "-trimpath", "-o", c.exe, "../../cmd/swarm").CombinedOutput(); err != nil {
		c.Fatalf("%v: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "s.yaml"), []byte(c.script()), 0o600); err != nil {
		c.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		c.Fatal(err)
	}
	c.addr = free.Addr().String()
	if err := free.Close(); err != nil {
		c.Fatal(err)
	}
	c.Cleanup(c.close)
	c.serve("--session-id", session)
	c.await("the session", func() bool {
		found, err := filepath.Glob(filepath.Join(dir, "home", "projects", "*", session))
		if err == nil && len(found) == 1 {
			c.path = found[0]
		}
		return c.path != "" && c.answers()
	})
	out, err := c.command("bus", "user", "add", "c0", "--session", session).Output()
	if err != nil {
		c.Fatal(err)
	}
	c.seed = filepath.Join(dir, "c0.nk")
	if err := os.WriteFile(c.seed, regexp.MustCompile(`(?m)^SU\w+$`).Find(out), 0o600); err != nil {
		c.Fatal(err)
	}
	c.startClient()
	if out, err := c.command("send", "--session", session, "lead", "begin").CombinedOutput(); err != nil {
		c.Fatalf("%v: %s", err, out)
	}
}

func (c *cluster) command(args ...string) *exec.Cmd {
	cmd := exec.Command(c.exe, args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "HOME="+c.dir, "SWARM_HOME="+filepath.Join(c.dir, "home"), "TMUX=", "TMUX_TMPDIR="+c.dir, "SWARM_CONTEXT_WINDOW=1000000000")
	return cmd
}

func (c *cluster) serve(which ...string) {
	log, err := os.OpenFile(filepath.Join(c.dir, "owner.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		c.Fatal(err)
	}
	defer log.Close()
	c.owner = c.command(append([]string{"serve", "--listen", c.addr, "--model", "script:s.yaml", "--teammate-mode", "tmux", "--dangerously-skip-permissions"}, which...)...)
	c.owner.Stdout, c.owner.Stderr = log, log
	if err := c.owner.Start(); err != nil {
		c.Fatal(err)
	}
}

// answers reports whether the owner can be reached by its socket.
func (c *cluster) answers() bool {
	conn, err := net.Dial("unix", filepath.Join(c.dir, "home", "run", session+".sock"))
	if err == nil {
		err = conn.Close()
	}
	return err == nil
}

func (c *cluster) await(what string, is func() bool) {
	c.Helper()
	for limit := time.Now().Add(2 * time.Minute); !is(); {
		if time.Now().After(limit) {
			c.Fatalf("it takes too long: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// close ends what is left and keeps the files of a failure.
func (c *cluster) close() {
	for _, cmd := range []*exec.Cmd{c.owner, c.client} {
		if cmd != nil && cmd.ProcessState == nil {
			end(cmd)
		}
	}
	for _, n := range c.nodes() {
		syscall.Kill(n.pid, syscall.SIGKILL) //nolint:errcheck // it may have ended
	}
	tmux := exec.Command("tmux", "-L", "swarm-"+session, "kill-server")
	tmux.Env = append(os.Environ(), "TMUX_TMPDIR="+c.dir)
	_ = tmux.Run() // it ends with its last pane
	if c.Failed() {
		c.Logf("the files are kept in %s", c.dir)
	} else if err := os.RemoveAll(c.dir); err != nil {
		c.Error(err)
	}
}

func end(cmd *exec.Cmd) {
	cmd.Process.Kill() //nolint:errcheck // it may have ended
	cmd.Wait()         //nolint:errcheck // killed, as it should be
}

// mate is the process of a teammate.
type mate struct {
	pid      int
	id, name string
}

// nodes returns the teammates that have a process.
func (c *cluster) nodes() (all []mate) {
	procs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		c.Fatal(err)
	}
	for _, p := range procs {
		raw, err := os.ReadFile(p)
		args := strings.Split(string(raw), "\x00")
		if err != nil || len(args) < 6 || args[0] != c.exe || args[1] != "teammate" {
			continue
		}
		pid, err := strconv.Atoi(strings.Split(p, "/")[2])
		if err != nil {
			c.Fatal(err)
		}
		all = append(all, mate{pid, args[3], args[5]})
	}
	return all
}

// written returns when something was last written into a process's journal.
func written(dir string) (last int64) {
	files, err := filepath.Glob(filepath.Join(dir, "journal", "*"))
	if err != nil {
		return 0
	}
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			last = max(last, info.ModTime().UnixNano())
		}
	}
	return last
}

// harm kills one process after the other, as long as there is work. Each is killed
// once it has written something in its life, which proves that it was at work.
func (c *cluster) harm() {
	rng := rand.New(rand.NewPCG(uint64(c.kills), 7))
	c.await("the teammates", func() bool { return len(c.nodes()) == c.mates })
	moved := time.Now()
	for i := 0; c.count.sum() < c.kills; i++ {
		before := c.count.sum()
		switch role := roles[i%len(roles)]; role {
		case "owner":
			if at := written(c.path); c.soon(func() bool { return c.answers() && written(c.path) != at }) {
				end(c.owner)
				c.serve("--resume", session)
				c.count[role]++
			}
		case "node":
			c.killNode(rng)
		case "client":
			if at := c.posted(); c.soon(func() bool { return c.posted() != at }) {
				end(c.client)
				c.startClient()
				c.count[role]++
			}
		}
		if c.count.sum() > before {
			moved = time.Now()
		} else if time.Since(moved) > 20*time.Second {
			c.Logf("all is sent after %d kills", c.count.sum())
			return
		}
		time.Sleep(time.Duration(rng.IntN(200)) * time.Millisecond)
	}
}

// soon reports whether something comes true in a while.
func (c *cluster) soon(is func() bool) bool {
	for limit := time.Now().Add(2 * time.Second); !is(); {
		if time.Now().After(limit) {
			return false
		}
		time.Sleep(2 * time.Millisecond)
	}
	return true
}

func (c *cluster) killNode(rng *rand.Rand) {
	all := c.nodes()
	if len(all) == 0 {
		return
	}
	m := all[rng.IntN(len(all))]
	dir := filepath.Join(c.path, "nodes", m.id)
	if at := written(dir); c.soon(func() bool { return written(dir) != at }) && syscall.Kill(m.pid, syscall.SIGKILL) == nil {
		c.count["node"]++
	}
}

func (c *cluster) posted() int { return progress(c.dir, "c0") }

// startClient starts the program outside.
func (c *cluster) startClient() {
	c.client = exec.Command(os.Args[0])
	c.client.Env = append(os.Environ(), "SWARM_CHAOS_ROLE=outside", "SWARM_CHAOS_DIR="+c.dir,
		fmt.Sprintf("SWARM_CHAOS_OUTSIDE=%s %s %d %d %d", c.addr, c.seed, c.mates, c.steps*c.burst, c.pause/time.Duration(c.burst)))
	c.client.Stderr = os.Stderr
	if err := c.client.Start(); err != nil {
		c.Fatal(err)
	}
}

// awaitRest waits until nothing moves and ends the session.
func (c *cluster) awaitRest() {
	last, same := "", 0
	for limit := time.Now().Add(30 * time.Minute); same < 4; {
		if time.Now().After(limit) {
			c.Fatalf("the session does not come to rest: %s", last)
		}
		time.Sleep(300 * time.Millisecond)
		now := c.rest()
		if now == "" || now != last {
			same = 0
		} else {
			same++
		}
		last = now
	}
	c.command("quit", session).Run() //nolint:errcheck // it is looked at below
	c.await("the owner's end", func() bool { return c.owner.ProcessState != nil || c.waited() })
	end(c.client)
}

func (c *cluster) waited() bool {
	_ = c.owner.Wait() // however it ended, it has
	return true
}

// rest is what the session shows once all agents are at rest and have sent
// everything; "" before.
func (c *cluster) rest() string {
	out, err := c.command("ps", session, "--format", "json").Output()
	var seen struct {
		Agents []struct {
			Name, State string
			Steps       int
			Unread      int
		}
	}
	if err != nil || json.Unmarshal(out, &seen) != nil || len(seen.Agents) != c.mates+2 {
		return ""
	}
	for _, a := range seen.Agents {
		if a.State == "parked" { // as reported to its lead, a message starts it again
			c.command("send", "--session", session, a.Name, "go on").Run() //nolint:errcheck // it is tried again
			c.count["parked, and started again"]++
			return ""
		}
		if a.Name != "c0" && (a.State != "idle" || a.Steps <= c.steps || a.Unread > 0) {
			return ""
		}
	}
	return fmt.Sprint(seen.Agents, c.posted(), len(c.gotOutside()))
}
