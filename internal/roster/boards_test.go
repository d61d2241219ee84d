package roster_test

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/internal/roster"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team/board"
)

// tended is a list that is tended for as long as the test runs, and has a task for
// each name.
func tended(t *testing.T, store board.Store, o board.Options, names ...string) *board.Board {
	t.Helper()
	n := coordinatortest.Start(t, coordinatortest.By(answers{agent.LeadName: done("ok")}), options())
	must(t, n.SpawnIdle(t.Context(), []agent.Spec{member("ann")}))
	boards := roster.NewBoards(n.Coordinator, func(context.Context, string) (board.Store, error) { return store, nil }, o)
	list, err := boards.Get(t.Context(), "list")
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		boards.Run(ctx, func() error { return nil }, func(err error) { t.Error(err) })
	}()
	t.Cleanup(func() {
		stop()
		<-over
		boards.Close()
		n.End(t)
	})
	for _, name := range names {
		_, err := list.Create(t.Context(), board.Member{Name: "lead", Lead: true}, board.New{Subject: "task of " + name})
		must(t, err)
	}
	return list
}

// TestATaskIsOfferedAgainWhenItsLeaseEnds: neither later, nor sooner than the holder
// was promised.
func TestATaskIsOfferedAgainWhenItsLeaseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		offered := make(chan time.Time, 1)
		list := tended(t, &board.Memory{}, board.Options{Lease: time.Minute, Changed: func(c board.Change) {
			if c.What == board.Offered {
				offered <- time.Now()
			}
		}}, "ann", "ghost")
		time.Sleep(7 * time.Second)
		_, err := list.Claim(t.Context(), board.Member{Address: mailbox.Address{Agent: "ann", Incarnation: 0}, Name: "ann"}, "1")
		must(t, err)
		lost, err := list.Claim(t.Context(), board.Member{Address: mailbox.Address{Agent: "ghost", Incarnation: 1}, Name: "ghost"}, "2")
		must(t, err)
		if late := (<-offered).Sub(lost.Claim.Until); late != 0 {
			t.Errorf("the task was offered again %v after its lease had ended", late)
		}
		time.Sleep(10 * time.Minute)
		if kept, err := list.Get("1"); err != nil || kept.Claim == nil {
			t.Errorf("who lives has lost its task: %+v, %v", kept, err)
		}
	})
}

// slowStore takes its time for each change, and counts those of ann's that are made
// between the end of the ghost's lease and the change that ends its claim.
type slowStore struct {
	board.Memory
	until   atomic.Pointer[time.Time] // of the ghost's lease
	between atomic.Int32
	renewed atomic.Int32
}

func (s *slowStore) Put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if until := s.until.Load(); until != nil {
		time.Sleep(40 * time.Millisecond)
		if bytes.Contains(value, []byte(`"agent":"ann"`)) {
			s.renewed.Add(1)
			if time.Now().After(*until) {
				s.between.Add(1)
			}
		}
	}
	return s.Memory.Put(ctx, key, value, revision)
}

// TestRenewalsDoNotHoldUpAnOffer: of forty slow renewals only the one that is on
// its way comes before a task that nobody holds any more.
func TestRenewalsDoNotHoldUpAnOffer(t *testing.T) {
	const held = 40
	var names []string
	for i := range held {
		names = append(names, fmt.Sprint("ann ", i))
	}
	store, offered := &slowStore{}, make(chan int32, 1)
	list := tended(t, store, board.Options{Lease: time.Second, Changed: func(c board.Change) {
		if c.What == board.Offered {
			offered <- store.between.Load()
		}
	}}, append(names, "ghost")...)
	for i := range held {
		_, err := list.Claim(t.Context(), board.Member{Address: mailbox.Address{Agent: "ann"}, Name: "ann"}, board.ID(fmt.Sprint(i+1)))
		must(t, err)
	}
	lost, err := list.Claim(t.Context(), board.Member{Address: mailbox.Address{Agent: "ghost"}, Name: "ghost"}, board.ID(fmt.Sprint(held+1)))
	must(t, err)
	store.until.Store(&lost.Claim.Until)
	if n := <-offered; n > held/4 {
		t.Errorf("%d renewals of %d came before the task was offered again", n, store.renewed.Load())
	}
	if store.renewed.Load() == 0 {
		t.Error("nothing was renewed, so nothing is shown")
	}
}
