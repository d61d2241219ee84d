package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/internal/journal/journaltest"
)

func TestLawDurableBeforeWaitReturns(t *testing.T) {
	d := journaltest.New()
	j := open(t, d, journal.Options{})
	commit(t, j, "a", "1", "2")
	if err := j.Append("b", 7, []byte("3")).Wait(); err != nil {
		t.Fatal(err)
	}
	j.Append("a", 1, []byte("4"))
	if err := j.Sync(); err != nil {
		t.Fatal(err)
	}
	d.Crash(journaltest.LoseUnsynced, nil)
	j = open(t, d, journal.Options{})
	same(t, "live", live(t, j), []string{"a:1", "a:2", "b:3", "a:4"})
	clean(t, j)
	shut(t, j)
}

func TestNothingIsAcknowledgedBeforeTheSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := journaltest.New()
		j := open(t, d, journal.Options{})
		gate := make(chan struct{})
		d.BeforeSync(func() { <-gate })
		ticket := j.Append("a", 1, nil)
		synctest.Wait()
		select {
		case <-ticket.Done():
			t.Error("done before the sync")
		default:
		}
		if n := len(history(t, j, "a")); n != 0 {
			t.Errorf("history shows %d records that are not durable", n)
		}
		d.BeforeSync(nil)
		close(gate)
		<-ticket.Done()
		if err := ticket.Err(); err != nil {
			t.Error(err)
		}
		same(t, "history", history(t, j, "a"), []string{"a:"})
		shut(t, j)
	})
}

func TestLawOneOrderForAll(t *testing.T) {
	d := journaltest.New()
	j := open(t, d, journal.Options{SegmentBytes: 600})
	var want []string
	var mu sync.Mutex // makes the calls, and the model's entries, one order
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 50 {
				stream, text := fmt.Sprint("s", w%3), fmt.Sprintf("%d.%d", w, i)
				mu.Lock()
				want = append(want, stream+":"+text)
				ticket := j.Append(stream, 1, []byte(text))
				mu.Unlock()
				if i%7 == 0 {
					if err := ticket.Wait(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	shut(t, j)
	j = open(t, d, journal.Options{})
	same(t, "live", live(t, j), want)
	for s := range 3 {
		stream := fmt.Sprint("s", s)
		var mine []string
		for _, w := range want {
			if strings.HasPrefix(w, stream+":") {
				mine = append(mine, w)
			}
		}
		same(t, "history of "+stream, history(t, j, stream), mine)
	}
	if n := len(segments(t, d)); n < 3 {
		t.Errorf("%d segments: the order was not tested across files", n)
	}
	shut(t, j)
}

func TestLawGroupCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := journaltest.New()
		j := open(t, d, journal.Options{})
		gate := make(chan struct{})
		d.BeforeSync(func() { <-gate })
		first := j.Append("a", 1, nil)
		synctest.Wait() // the committer is in the first sync
		before := d.Counts()
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				if err := j.Commit("a", 1, []byte("x")); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait() // all hundred wait
		d.BeforeSync(nil)
		close(gate)
		wg.Wait()
		if err := first.Wait(); err != nil {
			t.Error(err)
		}
		after := d.Counts()
		if n := after.Syncs - before.Syncs; n != 2 {
			t.Errorf("%d syncs, want 2: the one under way and one for the hundred", n)
		}
		if n := after.Writes - before.Writes; n != 1 {
			t.Errorf("%d writes for the hundred, want 1", n)
		}
		shut(t, j)
	})
}

func TestLawFailedSyncStopsForGood(t *testing.T) {
	d := journaltest.New()
	j := open(t, d, journal.Options{})
	commit(t, j, "a", "told")
	d.FailSync(1)
	err := j.Commit("a", 1, []byte("lost"))
	isFailed(t, "commit", err)
	if !errors.Is(err, syscall.EIO) {
		t.Errorf("cause is missing: %v", err)
	}
	<-j.Failed()
	// The disk is well again; the journal must not believe it.
	ticket := j.Append("a", 1, []byte("late"))
	isFailed(t, "ticket after", ticket.Wait())
	isFailed(t, "Sync after", j.Sync())
	isFailed(t, "Checkpoint after", j.Checkpoint(func(func(string, []byte)) error { return nil }))
	isFailed(t, "Err", j.Err())
	isFailed(t, "Close", j.Close())
	if c := d.Counts(); c.FailedSyncs != 1 {
		t.Fatalf("the fault was met %d times", c.FailedSyncs)
	}
	d.Crash(journaltest.LoseUnsynced, nil)
	j = open(t, d, journal.Options{})
	same(t, "live", live(t, j), []string{"a:told"})
	shut(t, j)
}

func TestLawFailedWriteStopsForGood(t *testing.T) {
	d := journaltest.New()
	j := open(t, d, journal.Options{})
	commit(t, j, "a", "told")
	d.FailWrite(1)
	isFailed(t, "commit", j.Commit("a", 1, bytes.Repeat([]byte("x"), 300)))
	isFailed(t, "commit after", j.Commit("a", 1, nil))
	isFailed(t, "Close", j.Close())
	j = open(t, d, journal.Options{})
	if r := j.Report(); r.Torn == nil {
		t.Error("half a record lies there and is not reported")
	}
	same(t, "live", live(t, j), []string{"a:told"})
	shut(t, j)
}

func TestEverySyncOfAJournalsLifeMayFail(t *testing.T) {
	met := 0
	for n := 1; ; n++ {
		d := journaltest.New()
		j := open(t, d, journal.Options{SegmentBytes: 300})
		d.FailSync(n)
		told := lead(j, 12)
		closeErr := j.Close()
		if d.Counts().FailedSyncs == 0 {
			break
		}
		met++
		isFailed(t, fmt.Sprint("close, sync ", n), closeErr)
		d.Crash(journaltest.LoseUnsynced, nil)
		j = open(t, d, journal.Options{})
		if got := live(t, j); len(got) < len(told) {
			t.Errorf("sync %d failed: %d records told durable, %d found", n, len(told), len(got))
		}
		shut(t, j)
	}
	if met < 12 {
		t.Errorf("only %d syncs were made to fail", met)
	}
}

// lead commits n records, with one checkpoint, and returns those acknowledged.
func lead(j *journal.Journal, n int) (told []string) {
	for i := range n {
		if j.Commit("a", 1, fmt.Appendf(nil, "record %030d", i)) == nil {
			told = append(told, fmt.Sprint(i))
		}
	}
	return told
}

func TestLawWhatLiveReturnsIsDurable(t *testing.T) {
	d := journaltest.New()
	j := open(t, d, journal.Options{})
	commit(t, j, "a", "told")
	d.FailSync(1)
	isFailed(t, "commit", j.Commit("a", 1, []byte("in doubt")))
	isFailed(t, "Close", j.Close())
	// The process starts again; the system still shows the unsynced record.
	j = open(t, d, journal.Options{})
	shown := live(t, j)
	same(t, "live", shown, []string{"a:told", "a:in doubt"})
	d.Crash(journaltest.LoseUnsynced, nil)
	j = open(t, d, journal.Options{})
	same(t, "live after the power cut", live(t, j), shown)
	shut(t, j)
}

func TestLawOneWriter(t *testing.T) {
	for name, fsys := range map[string]journal.FS{"disk": journaltest.New(), "os": journal.OS{}} {
		t.Run(name, func(t *testing.T) {
			at := t.TempDir()
			j, err := journal.Open(at, journal.Options{FS: fsys})
			if err != nil {
				t.Fatal(err)
			}
			_, err = journal.Open(at, journal.Options{FS: fsys})
			var locked *journal.LockedError
			if !errors.Is(err, journal.ErrLocked) || !errors.As(err, &locked) || locked.PID == 0 {
				t.Errorf("second Open: %v, want ErrLocked with a process id", err)
			}
			if err := j.Commit("a", 1, nil); err != nil {
				t.Errorf("the first is disturbed: %v", err)
			}
			shut(t, j)
			if j, err = journal.Open(at, journal.Options{FS: fsys}); err != nil {
				t.Fatal("after Close:", err)
			}
			shut(t, j)
		})
	}
}

func TestAFileSystemWithoutLocksIsRefused(t *testing.T) {
	d := journaltest.New()
	d.FailLock(syscall.ENOTSUP)
	_, err := journal.Open(dir, journal.Options{FS: d})
	if err == nil || !strings.Contains(err.Error(), "local disk") || !strings.Contains(err.Error(), dir) {
		t.Errorf("Open = %v", err)
	}
}

func TestOpenRefusesAReadOnlyDirectory(t *testing.T) {
	d := journaltest.New()
	shut(t, open(t, d, journal.Options{}))
	d.ReadOnly(true)
	_, err := journal.Open(dir, journal.Options{FS: d})
	if err == nil || !strings.Contains(err.Error(), "cannot be written") || !strings.Contains(err.Error(), dir) {
		t.Errorf("Open = %v", err)
	}
}

func TestOpenRefusesAFullDisk(t *testing.T) {
	d := journaltest.New()
	d.Full(1 << 20)
	_, err := journal.Open(dir, journal.Options{FS: d})
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "free some space") {
		t.Errorf("Open = %v", err)
	}
	d.Full(-1)
	j := open(t, d, journal.Options{})
	commit(t, j, "a", "1")
	shut(t, j)
	d.Full(1 << 20)
	if _, err = journal.Open(dir, journal.Options{FS: d}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Open of an old journal = %v", err)
	}
	d.Full(-1)
	j = open(t, d, journal.Options{})
	same(t, "live", live(t, j), []string{"a:1"})
	shut(t, j)
}

func TestAFullDiskLosesNothingAcknowledged(t *testing.T) {
	d := journaltest.New()
	j := open(t, d, journal.Options{SegmentBytes: 4096})
	d.Full(10_000)
	told := lead(j, 1000)
	if d.Counts().FullErrors == 0 || len(told) == 0 {
		t.Fatalf("the disk did not fill: %d told, %+v", len(told), d.Counts())
	}
	err := j.Close()
	isFailed(t, "Close", err)
	if !strings.Contains(err.Error(), "free some space") {
		t.Errorf("no way out in %q", err)
	}
	d.Full(-1)
	j = open(t, d, journal.Options{})
	if got := live(t, j); len(got) != len(told) {
		t.Errorf("%d told, %d found", len(told), len(got))
	}
	commit(t, j, "a", "goes on")
	shut(t, j)
}

func TestRecordsTheJournalCannotHoldAreRefused(t *testing.T) {
	j := open(t, journaltest.New(), journal.Options{})
	if err := j.Commit("a", 1, make([]byte, journal.MaxRecord+1)); !errors.Is(err, journal.ErrTooBig) {
		t.Errorf("big record: %v", err)
	}
	if err := j.Commit(strings.Repeat("s", journal.MaxStream+1), 1, nil); !errors.Is(err, journal.ErrTooBig) {
		t.Errorf("big name: %v", err)
	}
	if err := j.Commit("a", 0, nil); !errors.Is(err, journal.ErrNoKind) {
		t.Errorf("kind 0: %v", err)
	}
	if ticket := j.Append("a", 0, nil); ticket.Seq() != 0 {
		t.Error("a refused record has a number")
	}
	commit(t, j, "a", "fits")
	shut(t, j)
	if err := j.Commit("a", 1, nil); !errors.Is(err, journal.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestTheBiggestRecordFits(t *testing.T) {
	if testing.Short() {
		t.Skip("needs half a gigabyte")
	}
	d := journaltest.New()
	j := open(t, d, journal.Options{MaxPending: 1000})
	big := bytes.Repeat([]byte("0123456789abcdef"), journal.MaxRecord/16)
	name := strings.Repeat("n", journal.MaxStream)
	if err := j.Commit(name, 1, big); err != nil {
		t.Fatal(err)
	}
	shut(t, j)
	j = open(t, d, journal.Options{})
	clean(t, j)
	err := j.Live(func(r journal.Record) error {
		if r.Stream != name || !bytes.Equal(r.Data, big) {
			t.Error("it came back changed")
		}
		return nil
	})
	if err != nil || j.Report().Records != 1 {
		t.Error(err, j.Report())
	}
	shut(t, j)
}

func TestAppendBlocksOnlyOverMaxPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := journaltest.New()
		j := open(t, d, journal.Options{MaxPending: 1000})
		gate := make(chan struct{})
		d.BeforeSync(func() { <-gate })
		var tickets []journal.Ticket
		filled := make(chan struct{})
		go func() {
			defer close(filled)
			for range 40 {
				tickets = append(tickets, j.Append("a", 1, make([]byte, 64)))
			}
		}()
		synctest.Wait()
		select {
		case <-filled:
			t.Fatal("4 kB went into a journal with room for 1 kB")
		default:
		}
		if n := len(tickets); n < 8 {
			t.Errorf("only %d appends before it blocked", n)
		}
		d.BeforeSync(nil)
		close(gate)
		<-filled
		for _, ticket := range tickets {
			if err := ticket.Wait(); err != nil {
				t.Error(err)
			}
		}
		shut(t, j)
	})
}

func TestCloseFreesABlockedAppend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := journaltest.New()
		j := open(t, d, journal.Options{MaxPending: 100})
		gate := make(chan struct{})
		d.BeforeSync(func() { <-gate })
		j.Append("a", 1, make([]byte, 80))
		blocked := make(chan error)
		go func() { blocked <- j.Commit("a", 1, make([]byte, 80)) }()
		synctest.Wait()
		closed := make(chan error)
		go func() { closed <- j.Close() }()
		if err := <-blocked; !errors.Is(err, journal.ErrClosed) {
			t.Errorf("blocked append = %v, want ErrClosed", err)
		}
		d.BeforeSync(nil)
		close(gate)
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}

func TestCloseDrainsAndMayBeRepeated(t *testing.T) {
	d := journaltest.New()
	j := open(t, d, journal.Options{})
	tickets := make([]journal.Ticket, 100)
	for i := range tickets {
		tickets[i] = j.Append("a", 1, []byte("x"))
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { shut(t, j) })
	}
	wg.Wait()
	for i, ticket := range tickets {
		if err := ticket.Wait(); err != nil {
			t.Errorf("record %d: %v", i, err)
		}
	}
	d.Crash(journaltest.LoseUnsynced, nil)
	j = open(t, d, journal.Options{})
	if got := live(t, j); len(got) != len(tickets) {
		t.Errorf("%d of %d records", len(got), len(tickets))
	}
	shut(t, j)
}

func TestOpenAndCloseLeaveNoTrace(t *testing.T) {
	d := journaltest.New()
	j := open(t, d, journal.Options{})
	commit(t, j, "a", "1")
	shut(t, j)
	before := contents(t, d, segments(t, d)[0])
	for range 3 {
		shut(t, open(t, d, journal.Options{}))
	}
	if after := contents(t, d, segments(t, d)[0]); !bytes.Equal(before, after) {
		t.Errorf("the segment went from %d to %d bytes", len(before), len(after))
	}
}

func TestDataIsCopied(t *testing.T) {
	d := journaltest.New()
	j := open(t, d, journal.Options{})
	data := []byte("before")
	ticket := j.Append("a", 1, data)
	copy(data, "after!")
	if err := ticket.Wait(); err != nil {
		t.Fatal(err)
	}
	same(t, "history", history(t, j, "a"), []string{"a:before"})
	shut(t, j)
}
