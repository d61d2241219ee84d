package archive

import (
	"context"
	"errors"
	"time"

	"github.com/actorswarm/swarm/internal/journal"
)

// unlockedWithin is how long others may read a record that is to be written.
const unlockedWithin = 10 * time.Second

// OpenWhenUnlocked opens the record of an agent that has a process of its own for
// writing. The only other that writes it is held off by the lock of its launch: who
// has the journal reads it, or is about to be gone.
func OpenWhenUnlocked(ctx context.Context, open func() error) error {
	late := time.NewTimer(unlockedWithin)
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
