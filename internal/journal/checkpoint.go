package journal

import (
	"fmt"
	"sync"
)

// CheckpointDue returns a channel that gets one value when the records since the last
// checkpoint have more bytes than Options.SegmentBytes and than twice that checkpoint.
// It is one channel with room for one value, for one owner, and is never closed.
func (j *Journal) CheckpointDue() <-chan struct{} { return j.due }

// Checkpoint lets write append one snapshot of every live stream, which from then on
// replaces the stream's records before it. Other appends go on meanwhile. write calls
// snap for each stream while it holds the lock under which it appends that stream's
// records; snap copies data, may be called from several goroutines, and does nothing
// after write has returned. If write fails, a snapshot is refused or the process dies,
// the previous checkpoint stays valid. One checkpoint runs at a time; others wait.
func (j *Journal) Checkpoint(write func(snap func(stream string, data []byte)) error) error {
	j.ckptMu.Lock()
	defer j.ckptMu.Unlock()
	begin := j.enqueue(frame{flags: flagBegin}, "")
	if err := begin.Wait(); err != nil {
		return fmt.Errorf("begin checkpoint: %w", err)
	}
	defer j.rearm()
	c := &snapshots{j: j}
	err := write(c.snap)
	m, snapErr := c.end()
	if err != nil {
		return fmt.Errorf("write checkpoint: %w", err)
	}
	if snapErr != nil {
		return fmt.Errorf("write checkpoint: %w", snapErr)
	}
	m.begin, m.segment = begin.seq, begin.b.segment
	if err := j.enqueue(frame{flags: flagEnd, data: m.encode()}, "").Wait(); err != nil {
		return fmt.Errorf("complete checkpoint: %w", err)
	}
	return nil
}

// rearm lets CheckpointDue signal again, and withdraws a signal that this checkpoint has
// answered.
func (j *Journal) rearm() {
	j.catalogMu.Lock()
	defer j.catalogMu.Unlock()
	select {
	case <-j.due:
	default:
	}
	j.catalog.signaled = false
	j.catalog.signal()
}

// snapshots collects one checkpoint.
type snapshots struct {
	j    *Journal
	mu   sync.Mutex
	mark endMark
	err  error
	over bool
}

func (c *snapshots) snap(stream string, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || c.err != nil {
		return
	}
	t := c.j.enqueue(frame{flags: flagSnapshot, data: data}, stream)
	if t.seq == 0 {
		c.err = fmt.Errorf("snapshot of %s: %w", stream, t.Err())
		return
	}
	c.mark.snapshots++
	c.mark.bytes += uint64(frameSize(len(stream), len(data)))
}

func (c *snapshots) end() (endMark, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	return c.mark, c.err
}
