package roster_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/internal/roster"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/team/board"
	"github.com/actorswarm/swarm/team/board/kvboard"
	"github.com/actorswarm/swarm/tool"
)

// race is 50 agents that take tasks of one list through their tools until all
// are done.
type race struct {
	t     *testing.T
	n     *coordinatortest.Node
	list  *board.Board
	bell  func() <-chan struct{} // closed at the next change of the list
	mu    sync.Mutex
	holds map[string]board.ID // guarded by mu; what each agent works on
	done  map[board.ID]int    // guarded by mu
	dies  map[string]bool     // guarded by mu; agents that are killed with a task in hand
	spare int                 // guarded by mu; how many of them live
}

// next is the model of one worker: it takes a task that looks free, does it, and
// goes on.
func (r *race) next(ctx context.Context, name string, writes bool, req *model.Request) *model.Answer {
	r.mu.Lock()
	held, holds := r.holds[name]
	r.mu.Unlock()
	blocks := req.Messages[len(req.Messages)-1].Blocks()
	took := holds && len(blocks) > 0 && blocks[0].Type == "tool_result" && !blocks[0].IsError
	if took && strings.Contains(blocks[0].Content, "completed") {
		took = false
	}
	r.mu.Lock()
	delete(r.holds, name)
	dies := r.dies[name]
	r.mu.Unlock()
	if took && dies {
		r.mu.Lock()
		r.spare--
		r.mu.Unlock()
		id := mailbox.AgentID(name)
		go func() { _ = r.n.Stop(context.WithoutCancel(ctx), id, turn.ErrKilled) }()
		<-ctx.Done()
		return nil
	}
	if took && r.claimed(held, name) {
		return r.update(held, "completed")
	}
	for {
		changed := r.bell()
		id, open := r.choose(name, writes, dies)
		switch {
		case id != "":
			return r.update(id, "in_progress")
		case open == 0 || !writes:
			return coordinatortest.Say("nothing is left for me")
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// choose picks a task that looks free, and returns how many are not done. Enough of them
// that nobody tries to take are left to those who are to die with one in hand.
func (r *race) choose(name string, writes, dies bool) (id board.ID, open int) {
	all, free := r.list.List(), 0 // not under mu, which a change of the list takes
	r.mu.Lock()
	defer r.mu.Unlock()
	tried := slices.Collect(maps.Values(r.holds))
	for _, task := range all {
		if isFree(task) && !slices.Contains(tried, task.ID) {
			free++
		}
	}
	for _, at := range rand.Perm(len(all)) {
		task := all[at]
		if task.Status != board.Completed {
			open++
		}
		if (dies || free > r.spare) && isFree(task) && (writes || !task.Writes || open%7 == 0) {
			r.holds[name] = task.ID
			return task.ID, open
		}
	}
	return "", open
}

func isFree(t board.Task) bool {
	return t.Status == board.Pending && t.Claim == nil && len(t.BlockedBy) == 0
}

func (r *race) claimed(id board.ID, name string) bool {
	task, err := r.list.Get(id)
	return err == nil && task.Status == board.InProgress && task.Claim != nil && string(task.Claim.Agent) == name
}

func (r *race) update(id board.ID, status string) *model.Answer {
	return coordinatortest.Use(coordinatortest.Call(fmt.Sprint(status, id, time.Now().UnixNano()), "TaskUpdate", map[string]any{"taskId": id, "status": status}))
}

// TestProblem30_EachTaskIsDoneOnceThoughAgentsDie has 50 agents race for 500
// tasks (100 in an everyday run), of which a fifth wait for others; 10 are killed
// with a task in hand, 5 can only read.
func TestProblem30_EachTaskIsDoneOnceThoughAgentsDie(t *testing.T) {
	t.Run("in memory", func(t *testing.T) {
		store := &board.Memory{}
		raceForTasks(t, soak(100, 500), func(context.Context, string) (board.Store, error) { return store, nil })
	})
	t.Run("on JetStream", func(t *testing.T) {
		conn := served(t)
		raceForTasks(t, soak(100, 500), func(ctx context.Context, list string) (board.Store, error) {
			return kvboard.Open(ctx, conn, list, kvboard.Options{})
		})
	})
}

// served is a connection to an embedded server.
func served(t *testing.T) *nats.Conn {
	t.Helper()
	server, err := natsd.Start(t.Context(), natsd.Options{StoreDir: t.TempDir()})
	must(t, err)
	t.Cleanup(func() { must(t, server.Stop()) })
	conn, err := server.Conn("node")
	must(t, err)
	return conn
}

func raceForTasks(t *testing.T, tasks int, open func(context.Context, string) (board.Store, error)) {
	const agents, killed, readers = 50, 10, 5
	r := &race{t: t, holds: map[string]board.ID{}, done: map[board.ID]int{}, dies: map[string]bool{}, spare: killed}
	var bellMu sync.Mutex
	bell := make(chan struct{})
	r.bell = func() <-chan struct{} { bellMu.Lock(); defer bellMu.Unlock(); return bell }
	work := answers{}
	var specs []agent.Spec
	for i := range agents {
		name := fmt.Sprint("worker", i)
		spec := member(name)
		spec.ID, spec.Tools = mailbox.AgentID(name), []string{"TaskUpdate", "Write"}
		if i < readers {
			spec.Tools = spec.Tools[:1]
		}
		r.dies[name] = i >= readers && i < readers+killed
		work[name] = func(ctx context.Context, _ int, req *model.Request) *model.Answer {
			return r.next(ctx, name, i >= readers, req)
		}
		specs = append(specs, spec)
	}
	work[agent.LeadName] = done("ok")
	var boards *roster.Boards
	var once sync.Once
	o := options()
	o.MoreTools = func(c *coordinator.Coordinator, a coordinator.Agent) []tool.Tool {
		return roster.New(c).TaskTools(a, boards, func(string) string { return "list" })
	}
	o.Policy.MaxConcurrent = agents
	n := coordinatortest.New(t, t.TempDir(), coordinatortest.By(work), o)
	r.n = n
	wrong := make(chan string, tasks)
	leases := map[board.ID]time.Time{} // when each claim runs out
	freed, offered := map[board.ID]int{}, 0
	boards = roster.NewBoards(n.Coordinator, open, board.Options{
		Lease: 10 * time.Second,
		Changed: func(c board.Change) {
			bellMu.Lock()
			close(bell)
			bell = make(chan struct{})
			bellMu.Unlock()
			r.mu.Lock()
			defer r.mu.Unlock()
			if c.What == board.Moved && c.Task.Status == board.Completed && c.From != board.Completed {
				r.done[c.Task.ID]++
			}
			switch claim := c.Task.Claim; {
			case c.What == board.Freed:
				freed[c.Task.ID]++
			case claim != nil:
				leases[c.Task.ID] = claim.Until
			case c.What == board.Offered:
				if offered++; time.Now().After(leases[c.Task.ID]) {
					wrong <- fmt.Sprintf("task %s was offered again %v after its lease", c.Task.ID, time.Since(leases[c.Task.ID]))
				}
			}
			if c.Task.Claim != nil && c.Task.Writes && isReader(c.Task.Claim.Agent, readers) {
				wrong <- fmt.Sprintf("%s has task %s, which writes", c.Task.Claim.Agent, c.Task.ID)
			}
		},
	})
	t.Cleanup(func() { once.Do(boards.Close) })
	n.Begin(t)
	list, err := boards.Get(t.Context(), "list")
	must(t, err)
	r.list = list
	lead := roster.BoardMember(n.Lead.Record())
	for i := range tasks {
		task := board.New{Subject: fmt.Sprint("task ", i), Writes: i%2 == 0}
		if i%5 == 4 {
			task.BlockedBy = []board.ID{board.ID(fmt.Sprint(i)), board.ID(fmt.Sprint(i - 1))}
		}
		_, err := list.Create(t.Context(), lead, task)
		must(t, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var tending sync.WaitGroup
	tending.Go(func() { boards.Run(ctx, func() error { return nil }, func(err error) { t.Error(err) }) })
	t.Cleanup(func() { cancel(); tending.Wait() })
	must(t, n.SpawnIdle(t.Context(), specs))
	_, err = roster.New(n.Coordinator).Send(n.Lead, team.Message{To: team.Everyone, Text: "begin"})
	must(t, err)
	n.AwaitRest(t)
	gone := 0
	for i := range agents {
		if a, ok := n.Find(fmt.Sprint("worker", i)); ok && a.Record().Closed {
			gone++
		}
	}
	if gone != killed {
		t.Errorf("%d agents were killed with a task in hand, want %d", gone, killed)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, task := range list.List() {
		if task.Status != board.Completed || r.done[task.ID] != 1 || freed[task.ID] > 1 {
			t.Errorf("task %s is %s, was done %d times and freed %d times", task.ID, task.Status, r.done[task.ID], freed[task.ID])
		}
	}
	if offered != killed || len(freed) != tasks/5 {
		t.Errorf("%d tasks of the dead were offered again and %d that waited were said to be free", offered, len(freed))
	}
	close(wrong)
	for text := range wrong {
		t.Error(text)
	}
}

func isReader(id mailbox.AgentID, readers int) bool {
	for i := range readers {
		if string(id) == fmt.Sprint("worker", i) {
			return true
		}
	}
	return false
}
