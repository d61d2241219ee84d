// Package journaltest is a disk in memory that fails on demand, for tests of what must
// survive a crash.
//
//	disk := journaltest.New()
//	j, err := journal.Open("journal", journal.Options{FS: disk})
//	…
//	disk.FailSync(2)                          // the second sync from now fails
//	disk.Crash(journaltest.LoseUnsynced, rng) // a power cut
//	j, err = journal.Open("journal", journal.Options{FS: disk})
//
// It keeps two versions of every file and directory, the one that processes see and the one
// on the platter. Sync and SyncDir copy the first over the second; Disk.Crash goes back to
// the second. A sync that fails behaves like the worst real one: the written bytes stay
// visible and count as clean, but are not on the platter until they are written again.
//
// Disk.Counts reports whether a fault really happened. A Disk may be used by several
// goroutines at once.
package journaltest

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"github.com/actorswarm/swarm/internal/journal"
)

// Loss is how much of what was not synced a crash takes.
type Loss int

const (
	// LoseNothing is kill -9: the process is gone, the system lives on.
	LoseNothing Loss = iota
	// LoseUnsynced is a power cut that nothing unsynced outlived.
	LoseUnsynced
	// LoseSuffix keeps the writes of each file up to a random byte.
	LoseSuffix
	// LoseSome keeps or drops each unsynced 512-byte sector, name and size by
	// itself: writes reach the platter in any order.
	LoseSome
)

// Counts is what happened to a disk.
type Counts struct {
	Syncs        int   // of files, that succeeded
	DirSyncs     int   // that succeeded
	Writes       int   // that succeeded
	BytesRead    int64 // from files
	FailedSyncs  int
	FailedWrites int
	FullErrors   int // writes and reservations refused for want of space
	Crashes      int
	LossyCrashes int // crashes that took something
}

// Disk is an in-memory [journal.FS]. Make it with [New].
type Disk struct {
	mu         sync.Mutex
	names      map[string]*node // as seen
	platter    map[string]*node // durable
	dirs       map[string]bool
	locks      map[string]int // path to generation of the holder
	life       int            // rises with each crash; handles of an older one are dead
	dead       bool           // crashed, and no new process has begun
	failSync   int
	failWrite  int
	room       int64 // bytes left; negative: endless
	readOnly   bool
	lockErr    error
	counts     Counts
	beforeSync func()
}

// New returns an empty disk without limits.
func New() *Disk {
	return &Disk{
		names: map[string]*node{}, platter: map[string]*node{}, dirs: map[string]bool{},
		locks: map[string]int{}, room: -1,
	}
}

// Counts returns the counters.
func (d *Disk) Counts() Counts {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.counts
}

// FailSync makes the n-th sync from now, of a file or a directory, fail with
// EIO, once. 0 takes it back.
func (d *Disk) FailSync(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failSync = n
}

// FailWrite makes the n-th write from now write half its bytes and fail with
// EIO, once. 0 takes it back.
func (d *Disk) FailWrite(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failWrite = n
}

// Full leaves room for n more bytes; what goes beyond fails with ENOSPC. A
// negative n means endless room.
func (d *Disk) Full(n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.room = n
}

// ReadOnly makes everything that changes the disk fail with EROFS, or ends that.
func (d *Disk) ReadOnly(on bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.readOnly = on
}

// FailLock makes every Lock fail with err, as on a file system without locks.
func (d *Disk) FailLock(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lockErr = err
}

// BeforeSync has f called before each sync of a file, outside the disk's own
// lock: a test can hold the disk there. nil takes it back.
func (d *Disk) BeforeSync(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.beforeSync = f
}

// Crash ends every process that uses the disk: open files answer with an
// error, locks are free, and no file can be opened until a new process begins
// with MkdirAll. (A goroutine of the old one that goes on after that and opens
// files is not noticed: close what crashed first.) loss says what becomes of unsynced bytes and names;
// rng is used by the random kinds only.
func (d *Disk) Crash(loss Loss, rng *rand.Rand) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.life++
	d.dead = true
	d.counts.Crashes++
	clear(d.locks)
	if loss == LoseNothing {
		return
	}
	lost := d.dropNames(loss, rng)
	for _, path := range slices.Sorted(maps.Keys(d.names)) {
		if d.names[path].crash(loss, rng) {
			lost = true
		}
	}
	if lost {
		d.counts.LossyCrashes++
	}
}

// dropNames takes the files whose name was not synced.
func (d *Disk) dropNames(loss Loss, rng *rand.Rand) (lost bool) {
	for _, path := range slices.Sorted(maps.Keys(d.names)) {
		if d.platter[path] == d.names[path] || (loss != LoseUnsynced && rng.IntN(2) == 0) {
			continue
		}
		delete(d.names, path)
		lost = true
	}
	d.platter = maps.Clone(d.names)
	return lost
}

// ReadFile returns a copy of a file as a process sees it.
func (d *Disk) ReadFile(path string) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, ok := d.names[filepath.Clean(path)]
	if !ok {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	return slices.Clone(n.seen), nil
}

// WriteFile replaces or creates a file durably, past every injected fault.
func (d *Disk) WriteFile(path string, data []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := &node{seen: slices.Clone(data), durable: slices.Clone(data)}
	d.names[filepath.Clean(path)], d.platter[filepath.Clean(path)] = n, n
}

// Remove takes a file away durably, past every injected fault.
func (d *Disk) Remove(path string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.names, filepath.Clean(path))
	delete(d.platter, filepath.Clean(path))
}

// MkdirAll creates a directory, durably at once.
func (d *Disk) MkdirAll(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dead = false
	dir = filepath.Clean(dir)
	if d.dirs[dir] {
		return nil
	}
	if err := d.writable("mkdir", dir); err != nil {
		return err
	}
	d.dirs[dir] = true
	return nil
}

// Lock takes the lock on path for the life between two crashes.
func (d *Disk) Lock(path string) (io.Closer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lockErr != nil {
		return nil, fmt.Errorf("lock %s: %w", path, d.lockErr)
	}
	if err := d.writable("lock", path); err != nil {
		return nil, err
	}
	if _, held := d.locks[path]; held {
		return nil, &journal.LockedError{Path: path, PID: 1 + d.life}
	}
	d.locks[path] = d.life
	return &unlocker{d: d, path: path, life: d.life}, nil
}

type unlocker struct {
	d    *Disk
	path string
	life int
}

func (u *unlocker) Close() error {
	u.d.mu.Lock()
	defer u.d.mu.Unlock()
	if life, held := u.d.locks[u.path]; held && life == u.life {
		delete(u.d.locks, u.path)
	}
	return nil
}

// List returns the names of the files in dir.
func (d *Disk) List(dir string) ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []string
	for path := range d.names {
		if filepath.Dir(path) == filepath.Clean(dir) {
			out = append(out, filepath.Base(path))
		}
	}
	slices.Sort(out)
	return out, nil
}

// Open opens a file for reading.
func (d *Disk) Open(path string) (journal.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.alive("open", path); err != nil {
		return nil, err
	}
	n, ok := d.names[filepath.Clean(path)]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return &file{d: d, n: n, path: path, life: d.life}, nil
}

// Create opens a file for reading and writing; a new name needs SyncDir.
func (d *Disk) Create(path string) (journal.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.writable("create", path); err != nil {
		return nil, err
	}
	n, ok := d.names[filepath.Clean(path)]
	if !ok {
		n = &node{}
		d.names[filepath.Clean(path)] = n
	}
	return &file{d: d, n: n, path: path, life: d.life}, nil
}

// SyncDir makes the names in dir durable.
func (d *Disk) SyncDir(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.alive("sync", dir); err != nil {
		return err
	}
	if d.countdown(&d.failSync) {
		d.counts.FailedSyncs++
		return &fs.PathError{Op: "sync", Path: dir, Err: syscall.EIO}
	}
	for path, n := range d.names {
		if filepath.Dir(path) == filepath.Clean(dir) {
			d.platter[path] = n
		}
	}
	d.counts.DirSyncs++
	return nil
}

func (d *Disk) alive(op, path string) error {
	if d.dead {
		return &fs.PathError{Op: op, Path: path, Err: fs.ErrClosed}
	}
	return nil
}

func (d *Disk) writable(op, path string) error {
	if err := d.alive(op, path); err != nil {
		return err
	}
	if d.readOnly {
		return &fs.PathError{Op: op, Path: path, Err: syscall.EROFS}
	}
	return nil
}

// countdown reports whether an armed fault is due now.
func (d *Disk) countdown(n *int) bool {
	if *n == 0 {
		return false
	}
	*n--
	return *n == 0
}

// take uses up room for n bytes.
func (d *Disk) take(n int64, path string) error {
	if d.room < 0 || n <= 0 {
		return nil
	}
	if n > d.room {
		d.counts.FullErrors++
		return &fs.PathError{Op: "write", Path: path, Err: syscall.ENOSPC}
	}
	d.room -= n
	return nil
}
