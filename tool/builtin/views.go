package builtin

import (
	"crypto/sha256"
	"sync"
)

// digest identifies a content. The zero digest is "not known" and equals no
// content, so that a file too large to hash never counts as seen whole.
type digest [sha256.Size]byte

func digestOf(content []byte) digest { return sha256.Sum256(content) }

// span is a range of lines, first and last included, counted from one.
type span struct{ from, to int }

// view is what the agent knows of one file.
type view struct {
	sum   digest
	lines int  // lines of the content, -1 when not counted
	upTo  int  // lines seen from the start without a gap
	last  span // the range last shown
	told  bool // the last repeated read was answered with "unchanged"
}

// whole reports that every line of the content with this digest was shown.
func (v view) whole(sum digest) bool {
	return sum != digest{} && v.sum == sum && v.lines >= 0 && v.upTo >= v.lines
}

// views remembers the files an agent has seen, by resolved path. Safe for
// concurrent use.
type views struct {
	mu sync.Mutex
	m  map[string]view
}

func (s *views) get(real string) (view, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.m[real]
	return v, ok
}

func (s *views) put(real string, v view) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m == nil {
		s.m = make(map[string]view)
	}
	s.m[real] = v
}

// showed records that lines of a content were shown to the model.
func (s *views) showed(real string, sum digest, lines int, shown span) {
	v, _ := s.get(real)
	if v.sum != sum || sum == (digest{}) {
		v = view{sum: sum}
	}
	v.lines, v.last, v.told = lines, shown, false
	if shown.from <= v.upTo+1 {
		v.upTo = max(v.upTo, shown.to)
	}
	s.put(real, v)
}

// wrote records that the agent knows all of a content, having made it.
func (s *views) wrote(real string, content []byte) {
	n := countLines(content)
	s.put(real, view{sum: digestOf(content), lines: n, upTo: n})
}

// repeated reports whether the same lines of the same content were shown last
// time, and notes that this was said. It says so once: an agent that asks
// again may have lost the first answer to a compaction and gets it in full.
func (s *views) repeated(real string, sum digest, shown span) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.m[real]
	if !ok || v.sum != sum || sum == (digest{}) || v.last != shown || v.told {
		return false
	}
	v.told = true
	s.m[real] = v
	return true
}
