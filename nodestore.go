package swarm

import (
	"context"
	"errors"
	"time"

	"github.com/actorswarm/swarm/internal/journal"
)

// looksWithin is how long others may look at a record that is to be written.
const looksWithin = 10 * time.Second

// whenNobodyLooks opens the record of an agent with a process of its own for writing. The
// only other who writes it is held off by the lock of its launch: who has the journal
// looks, or is about to be gone.
func whenNobodyLooks(ctx context.Context, open func() error) error {
	late := time.NewTimer(looksWithin)
	defer late.Stop()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		err := open()
		if !errors.Is(err, journal.ErrLocked) {
			return err
		}
		select {
		case <-again.C:
		case <-late.C:
			return err
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		}
	}
}
