package board_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team/board"
	"github.com/actorswarm/swarm/team/board/boardtest"
	"pgregory.net/rapid"
)

func TestMemoryConforms(t *testing.T) {
	boardtest.Store(t, func(*testing.T) board.Store { return &board.Memory{} })
}

func open(t testing.TB, s board.Store, o board.Options) *board.Board {
	t.Helper()
	b, err := board.Open(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

func member(name string, incarnation uint32) board.Member {
	return board.Member{Address: mailbox.Address{Agent: mailbox.AgentID(name), Incarnation: incarnation}, Name: name, Writes: true}
}

func make1(t testing.TB, b *board.Board, n board.New) board.ID {
	t.Helper()
	task, err := b.Create(t.Context(), board.Member{Name: "lead", Lead: true}, n)
	if err != nil {
		t.Fatal(err)
	}
	return task.ID
}

// TestOneOwner lets 50 members in 5 processes' boards race for 500 tasks, 10 of
// them dying with a task in hand.
func TestOneOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const tasks, members, dying = 500, 50, 10
		store := &board.Memory{}
		boards := make([]*board.Board, 5)
		for i := range boards {
			boards[i] = open(t, store, board.Options{})
		}
		for i := range tasks {
			make1(t, boards[0], board.New{Subject: fmt.Sprint("task ", i)})
		}
		var (
			group sync.WaitGroup
			mu    sync.Mutex
			done  = map[board.ID]int{}
			dead  = map[mailbox.AgentID]bool{}
		)
		for i := range members {
			group.Go(func() {
				b, me := boards[i%len(boards)], member(fmt.Sprint("m", i), 1)
				for n := 0; ; n++ {
					task, err := b.Next(t.Context(), me)
					if errors.Is(err, board.ErrNothingFree) {
						return
					} else if err != nil {
						t.Error(err)
						return
					}
					if i < dying && n == 2 {
						mu.Lock()
						dead[me.Address.Agent] = true
						mu.Unlock()
						return
					}
					if _, err := b.Finish(t.Context(), me, task.ID); err != nil {
						t.Error(err)
					}
					mu.Lock()
					done[task.ID]++
					mu.Unlock()
				}
			})
		}
		group.Wait()
		lives := func(a mailbox.Address) bool { return !dead[a.Agent] }
		time.Sleep(time.Minute + time.Second)
		tend(t, boards[0], lives)
		heir := member("heir", 1)
		for {
			task, err := boards[1].Next(t.Context(), heir)
			if err != nil {
				break
			}
			if _, err := boards[1].Finish(t.Context(), heir, task.ID); err != nil {
				t.Fatal(err)
			}
			done[task.ID]++
		}
		if len(dead) == 0 {
			t.Fatal("nobody died")
		}
		for _, task := range boards[2].List() {
			if done[task.ID] != 1 || task.Status != board.Completed {
				t.Errorf("task %s was done %d times and is %s", task.ID, done[task.ID], task.Status)
			}
		}
		if len(done) != tasks {
			t.Errorf("%d of %d tasks are done", len(done), tasks)
		}
	})
}

func TestALeaseThatRunsOutOffersTheTaskAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []board.What
		b := open(t, &board.Memory{}, board.Options{Lease: time.Minute, Changed: func(c board.Change) { seen = append(seen, c.What) }})
		id := make1(t, b, board.New{Subject: "s"})
		ann, ben := member("ann", 1), member("ben", 1)
		if _, err := b.Claim(t.Context(), ann, id); err != nil {
			t.Fatal(err)
		}
		alive := true
		lives := func(mailbox.Address) bool { return alive }
		for range 10 { // renewed for as long as it lives
			time.Sleep(20 * time.Second)
			tend(t, b, lives)
		}
		if _, err := b.Claim(t.Context(), ben, id); !errors.As(err, new(*board.TakenError)) {
			t.Fatalf("the claim of one that lives was not kept: %v", err)
		}
		alive = false
		for range 4 {
			time.Sleep(20 * time.Second)
			tend(t, b, lives)
		}
		if task, err := b.Claim(t.Context(), ben, id); err != nil || task.Owner != "ben" {
			t.Errorf("the heir's claim: %+v, %v", task, err)
		}
		if n := count(seen, board.Offered); n != 1 {
			t.Errorf("offered %d times: %v", n, seen)
		}
	})
}

func tend(t *testing.T, b *board.Board, lives func(mailbox.Address) bool) {
	t.Helper()
	_, err := b.Expire(t.Context(), lives)
	if err := errors.Join(err, b.Renew(t.Context(), lives)); err != nil {
		t.Fatal(err)
	}
}

func count(all []board.What, w board.What) (n int) {
	for _, x := range all {
		if x == w {
			n++
		}
	}
	return n
}

func TestALateResultIsRefused(t *testing.T) {
	b := open(t, &board.Memory{}, board.Options{})
	id := make1(t, b, board.New{Subject: "s"})
	old, young, other := member("ann", 1), member("ann", 2), member("ben", 1)
	if _, err := b.Claim(t.Context(), old, id); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Claim(t.Context(), young, id); err != nil {
		t.Fatalf("a later incarnation may go on: %v", err)
	}
	if _, err := b.Finish(t.Context(), old, id); !errors.As(err, new(*board.SupersededError)) {
		t.Errorf("%v finished a task that it does not hold any more: %v", old.Address, err)
	}
	if _, err := b.Finish(t.Context(), other, id); !errors.As(err, new(*board.LostError)) {
		t.Errorf("%v finished a task that it does not hold: %v", other.Address, err)
	}
	if err := b.Release(t.Context(), "ann"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Finish(t.Context(), young, id); !errors.As(err, new(*board.LostError)) {
		t.Errorf("a result after the release: %v", err)
	}
	if task, err := b.Get(id); err != nil || task.Status != board.Pending {
		t.Errorf("the task is %+v, %v", task, err)
	}
}

// frozen is the store of a process that stands still: what others write does not
// come to its board until it asks.
type frozen struct {
	board.Store
	still atomic.Bool
}

func (f *frozen) Watch(ctx context.Context, see func(board.Entry)) (<-chan struct{}, error) {
	return f.Store.Watch(ctx, func(e board.Entry) {
		if !f.still.Load() {
			see(e)
		}
	})
}

// TestAnOldIncarnationTakesNothing has a process stand still until another has taken
// its place, and go on then with what it knows.
func TestAnOldIncarnationTakesNothing(t *testing.T) {
	shared := &board.Memory{}
	past := &frozen{Store: shared}
	there, here := open(t, past, board.Options{}), open(t, shared, board.Options{})
	old, young := member("ann", 1), member("ann", 2)
	held, taken, free := make1(t, here, board.New{Subject: "1"}), make1(t, here, board.New{Subject: "2"}), make1(t, here, board.New{Subject: "3"})
	if _, err := there.Claim(t.Context(), old, held); err != nil {
		t.Fatal(err)
	}
	past.still.Store(true)
	if _, err := here.Claim(t.Context(), young, taken); err != nil {
		t.Fatal(err)
	}
	superseded := new(board.SupersededError)
	for what, do := range map[string]func() error{
		"claim":    func() error { _, err := there.Claim(t.Context(), old, free); return err },
		"next":     func() error { _, err := there.Next(t.Context(), old); return err },
		"finish":   func() error { _, err := there.Finish(t.Context(), old, held); return err },
		"drop":     func() error { _, err := there.Drop(t.Context(), old, held); return err },
		"assign":   func() error { _, err := there.Assign(t.Context(), old, member("ben", 1), held); return err },
		"delete":   func() error { return there.Delete(t.Context(), old, held) },
		"claim it": func() error { _, err := there.Claim(t.Context(), old, held); return err },
	} {
		if err := do(); !errors.As(err, &superseded) {
			t.Errorf("%s in the old incarnation's name: %v", what, err)
		}
	}
	if task, err := here.Get(free); err != nil || task.Status != board.Pending || task.Claim != nil {
		t.Errorf("the free task is %+v, %v", task, err)
	}
	if _, err := here.Finish(t.Context(), young, held); err != nil {
		t.Errorf("the young one goes on with what the old one held: %v", err)
	}
}

func TestNoCycles(t *testing.T) {
	store := &board.Memory{}
	one, two := open(t, store, board.Options{}), open(t, store, board.Options{})
	var ids []board.ID
	for range 20 {
		ids = append(ids, make1(t, one, board.New{Subject: "s"}))
	}
	if err := one.Wait(t.Context(), ids[0], []board.ID{ids[0]}); !errors.As(err, new(*board.CycleError)) {
		t.Errorf("a task waits for itself: %v", err)
	}
	var group sync.WaitGroup
	var mu sync.Mutex
	refused := 0
	for i := range 10 { // both directions at once, from two boards
		for _, side := range []struct {
			b        *board.Board
			from, to board.ID
		}{{one, ids[2*i], ids[2*i+1]}, {two, ids[2*i+1], ids[2*i]}} {
			group.Go(func() {
				err := side.b.Wait(t.Context(), side.from, []board.ID{side.to})
				mu.Lock()
				defer mu.Unlock()
				if errors.As(err, new(*board.CycleError)) {
					refused++
				} else if err != nil {
					t.Error(err)
				}
			})
		}
	}
	group.Wait()
	if refused != 10 {
		t.Errorf("%d of 10 pairs were refused one direction", refused)
	}
}

func TestDependantsAreFreedOnce(t *testing.T) {
	freed := map[board.ID]int{}
	b := open(t, &board.Memory{}, board.Options{Changed: func(c board.Change) {
		if c.What == board.Freed {
			freed[c.Task.ID]++
		}
	}})
	first, second := make1(t, b, board.New{Subject: "1"}), make1(t, b, board.New{Subject: "2"})
	last := make1(t, b, board.New{Subject: "3", BlockedBy: []board.ID{first, second}})
	ann := member("ann", 1)
	if _, err := b.Claim(t.Context(), ann, last); !errors.As(err, new(*board.BlockedError)) {
		t.Errorf("a blocked task was claimed: %v", err)
	}
	for _, id := range []board.ID{first, second} {
		if freed[last] != 0 {
			t.Error("freed too early")
		}
		if _, err := b.Claim(t.Context(), ann, id); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Finish(t.Context(), ann, id); err != nil {
			t.Fatal(err)
		}
	}
	if freed[last] != 1 {
		t.Errorf("freed %d times", freed[last])
	}
	if task, err := b.Next(t.Context(), ann); err != nil || task.ID != last {
		t.Errorf("next is %+v, %v", task, err)
	}
}

func TestAReaderGetsNoWritingTask(t *testing.T) {
	b := open(t, &board.Memory{}, board.Options{})
	writes := make1(t, b, board.New{Subject: "w", Writes: true})
	reads := make1(t, b, board.New{Subject: "r"})
	reader := member("reader", 1)
	reader.Writes = false
	lead := board.Member{Name: "lead", Lead: true}
	if _, err := b.Claim(t.Context(), reader, writes); !errors.As(err, new(*board.UnfitError)) {
		t.Errorf("claim: %v", err)
	}
	if _, err := b.Assign(t.Context(), lead, reader, writes); !errors.As(err, new(*board.UnfitError)) {
		t.Errorf("assign: %v", err)
	}
	if task, err := b.Next(t.Context(), reader); err != nil || task.ID != reads {
		t.Errorf("next: %+v, %v", task, err)
	}
	if _, err := b.Next(t.Context(), reader); !errors.Is(err, board.ErrNothingFree) {
		t.Errorf("next with only writing tasks left: %v", err)
	}
}

func TestAnIDIsNeverUsedTwice(t *testing.T) {
	store := &board.Memory{}
	b := open(t, store, board.Options{})
	first := make1(t, b, board.New{Subject: "1"})
	if err := b.Delete(t.Context(), board.Member{Name: "lead", Lead: true}, first); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Get(first); !errors.As(err, new(*board.UnknownError)) {
		t.Errorf("a deleted task: %v", err)
	}
	again := open(t, store, board.Options{}) // another process, later
	if second := make1(t, again, board.New{Subject: "2"}); second == first {
		t.Errorf("task %s was given twice", second)
	}
}

func TestAssignedTasksAreTakenByTheirOwnerOnly(t *testing.T) {
	b := open(t, &board.Memory{}, board.Options{})
	lead, ann, ben := board.Member{Name: "lead", Lead: true}, member("ann", 1), member("ben", 1)
	id := make1(t, b, board.New{Subject: "1"})
	if task, err := b.Assign(t.Context(), lead, ann, id); err != nil || task.Owner != "ann" || task.Claim != nil {
		t.Fatalf("assign: %+v, %v", task, err)
	}
	if _, err := b.Claim(t.Context(), ben, id); !errors.As(err, new(*board.TakenError)) {
		t.Errorf("another took it: %v", err)
	}
	if _, err := b.Next(t.Context(), ben); !errors.Is(err, board.ErrNothingFree) {
		t.Errorf("next: %v", err)
	}
	if task, err := b.Next(t.Context(), ann); err != nil || task.ID != id {
		t.Errorf("the owner's next: %+v, %v", task, err)
	}
	if _, err := b.Assign(t.Context(), ben, ben, id); !errors.As(err, new(*board.TakenError)) {
		t.Errorf("taken away by a member: %v", err)
	}
	if task, err := b.Assign(t.Context(), lead, ben, id); err != nil || task.Owner != "ben" {
		t.Errorf("taken away by the lead: %+v, %v", task, err)
	}
	if _, err := b.Finish(t.Context(), ann, id); !errors.As(err, new(*board.LostError)) {
		t.Errorf("who lost it finished it: %v", err)
	}
}

// TestBoardsAgree drives two boards on one store with random operations and
// checks after each that both agree and keep the laws.
func TestBoardsAgree(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		store := &board.Memory{}
		var boards [2]*board.Board
		for i := range boards {
			b, err := board.Open(ctx, store, board.Options{})
			if err != nil {
				r.Fatal(err)
			}
			defer b.Close()
			boards[i] = b
		}
		lead := board.Member{Name: "lead", Lead: true}
		ids := func(r *rapid.T) board.ID { return board.ID(fmt.Sprint(rapid.IntRange(1, 8).Draw(r, "id"))) }
		who := func(r *rapid.T) board.Member {
			return member(rapid.SampledFrom([]string{"ann", "ben"}).Draw(r, "who"), uint32(rapid.IntRange(1, 2).Draw(r, "inc")))
		}
		pick := func(r *rapid.T) *board.Board { return boards[rapid.IntRange(0, 1).Draw(r, "board")] }
		r.Repeat(map[string]func(*rapid.T){
			"create": func(r *rapid.T) { _, _ = pick(r).Create(ctx, lead, board.New{Subject: "s"}) },
			"wait":   func(r *rapid.T) { _ = pick(r).Wait(ctx, ids(r), []board.ID{ids(r)}) },
			"claim":  func(r *rapid.T) { _, _ = pick(r).Claim(ctx, who(r), ids(r)) },
			"finish": func(r *rapid.T) {
				b, id, m := pick(r), ids(r), who(r)
				before, _ := b.Get(id)
				after, err := b.Finish(ctx, m, id)
				if err == nil && before.Claim != nil && (before.Claim.Agent != m.Address.Agent || before.Claim.Incarnation > m.Address.Incarnation) {
					r.Fatalf("%v finished %+v, which became %+v", m.Address, before, after)
				}
			},
			"drop":   func(r *rapid.T) { _, _ = pick(r).Drop(ctx, who(r), ids(r)) },
			"delete": func(r *rapid.T) { _ = pick(r).Delete(ctx, lead, ids(r)) },
			"": func(r *rapid.T) {
				one, two := boards[0].List(), boards[1].List()
				if fmt.Sprintf("%+v", plain(one)) != fmt.Sprintf("%+v", plain(two)) {
					r.Fatalf("the boards differ:\n%+v\n%+v", plain(one), plain(two))
				}
				for _, task := range one {
					if task.Status == board.InProgress && (task.Claim == nil || len(task.BlockedBy) > 0 && slices.Contains(task.BlockedBy, task.ID)) {
						r.Fatalf("%+v", task)
					}
				}
			},
		})
	})
}

func plain(all []board.Task) []string {
	var lines []string
	for _, t := range all {
		lines = append(lines, fmt.Sprint(t.ID, t.Status, t.Owner, t.BlockedBy, t.Blocks, t.Claim != nil))
	}
	return lines
}
