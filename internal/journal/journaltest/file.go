package journaltest

import (
	"bytes"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"syscall"
)

const sector = 512

// node is a file, whatever its name.
type node struct {
	seen    []byte
	durable []byte
	pending []change
}

// change is one unsynced write, or with data nil a change of size.
type change struct {
	off  int64 // or the new size
	data []byte
}

func (c change) apply(b []byte) []byte {
	if c.data == nil {
		return resize(b, c.off)
	}
	b = grow(b, c.off+int64(len(c.data)))
	copy(b[c.off:], c.data)
	return b
}

func grow(b []byte, size int64) []byte {
	if size <= int64(len(b)) {
		return b
	}
	return resize(b, size)
}

func resize(b []byte, size int64) []byte {
	if size <= int64(len(b)) {
		return b[:size]
	}
	old := len(b)
	b = slices.Grow(b, int(size)-old)[:size]
	clear(b[old:])
	return b
}

func (n *node) do(c change) {
	n.seen = c.apply(n.seen)
	n.pending = append(n.pending, c)
}

func (n *node) sync() {
	for _, c := range n.pending {
		n.durable = c.apply(n.durable)
	}
	n.pending = nil
}

// crash goes back to what is on the platter, with what the loss leaves of the
// rest, and reports whether something is gone.
func (n *node) crash(loss Loss, rng *rand.Rand) (lost bool) {
	keep := n.durable
	switch loss {
	case LoseSuffix:
		keep = n.keepPrefix(rng)
	case LoseSome:
		keep = n.keepSectors(rng)
	}
	lost = !bytes.Equal(keep, n.seen)
	n.durable, n.pending = keep, nil
	n.seen = slices.Clone(keep)
	return lost
}

func (n *node) keepPrefix(rng *rand.Rand) []byte {
	if len(n.pending) == 0 {
		return n.durable
	}
	whole, torn := rng.IntN(len(n.pending)+1), rng.IntN(2) == 0
	keep := n.durable
	for i, c := range n.pending {
		if i == whole && torn && c.data != nil {
			c.data = c.data[:rng.IntN(len(c.data)+1)]
		} else if i >= whole {
			break
		}
		keep = c.apply(keep)
	}
	return keep
}

func (n *node) keepSectors(rng *rand.Rand) []byte {
	keep := n.durable
	for _, c := range n.pending {
		if c.data == nil {
			if rng.IntN(2) == 0 {
				keep = c.apply(keep)
			}
			continue
		}
		for off := c.off; off < c.off+int64(len(c.data)); off = (off/sector + 1) * sector {
			end := min((off/sector+1)*sector, c.off+int64(len(c.data)))
			if rng.IntN(2) == 0 {
				keep = change{off, c.data[off-c.off : end-c.off]}.apply(keep)
			}
		}
	}
	return keep
}

// file is an open handle. It dies with the process that opened it.
type file struct {
	d      *Disk
	n      *node
	path   string
	life   int
	closed bool
}

// usable is called with the disk locked.
func (f *file) usable(op string) error {
	if f.closed || f.life != f.d.life {
		return &fs.PathError{Op: op, Path: f.path, Err: fs.ErrClosed}
	}
	return nil
}

func (f *file) ReadAt(p []byte, off int64) (int, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if err := f.usable("read"); err != nil {
		return 0, err
	}
	if off >= int64(len(f.n.seen)) {
		return 0, io.EOF
	}
	n := copy(p, f.n.seen[off:])
	f.d.counts.BytesRead += int64(n)
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *file) WriteAt(p []byte, off int64) (int, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if err := f.change("write"); err != nil {
		return 0, err
	}
	if f.d.countdown(&f.d.failWrite) {
		f.d.counts.FailedWrites++
		half := len(p) / 2
		f.n.do(change{off, slices.Clone(p[:half])})
		return half, &fs.PathError{Op: "write", Path: f.path, Err: syscall.EIO}
	}
	if err := f.d.take(off+int64(len(p))-int64(len(f.n.seen)), f.path); err != nil {
		return 0, err
	}
	f.d.counts.Writes++
	f.n.do(change{off, append([]byte{}, p...)})
	return len(p), nil
}

// change is usable for what alters the file.
func (f *file) change(op string) error {
	if err := f.usable(op); err != nil {
		return err
	}
	return f.d.writable(op, f.path)
}

func (f *file) Truncate(size int64) error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if err := f.change("truncate"); err != nil {
		return err
	}
	if f.d.room >= 0 && size < int64(len(f.n.seen)) {
		f.d.room += int64(len(f.n.seen)) - size
	}
	f.n.do(change{off: size})
	return nil
}

func (f *file) Preallocate(size int64) error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if err := f.change("preallocate"); err != nil {
		return err
	}
	if size <= int64(len(f.n.seen)) {
		return nil
	}
	if err := f.d.take(size-int64(len(f.n.seen)), f.path); err != nil {
		return err
	}
	f.n.do(change{off: size})
	return nil
}

func (f *file) Size() (int64, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	return int64(len(f.n.seen)), f.usable("stat")
}

func (f *file) Sync() error {
	f.d.mu.Lock()
	hold := f.d.beforeSync
	f.d.mu.Unlock()
	if hold != nil {
		hold()
	}
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if err := f.usable("sync"); err != nil {
		return err
	}
	if f.d.countdown(&f.d.failSync) {
		f.d.counts.FailedSyncs++
		f.n.pending = nil
		return &fs.PathError{Op: "sync", Path: f.path, Err: syscall.EIO}
	}
	f.n.sync()
	f.d.counts.Syncs++
	return nil
}

func (f *file) Close() error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if f.closed {
		return &fs.PathError{Op: "close", Path: f.path, Err: fs.ErrClosed}
	}
	f.closed = true
	return nil
}
