package sandbox

import (
	"os"
	"sync"
)

// lastRules is the ruleset that a profile was last started with. The kernel can put any
// number of threads under one, so a command with the same rules needs none of its own. The
// file is closed with the last profile that shares it.
type lastRules struct {
	mu    sync.Mutex
	rules []rule           // guarded by mu, like the rest
	are   []inode          // what the path of each rule was
	has   handled          // what the ruleset handles
	dirs  map[string]inode // directories of many rules, whose entries are as they were while these are
	file  *os.File         // nil: none yet
}

// rule gives rights to a path, with all below.
type rule struct {
	path   string
	access uint64
}

// inode identifies a file for as long as it exists; the zero value is none. Of a directory
// changed is when an entry last came or went, where that matters.
type inode struct {
	dev, ino uint64
	changed  int64
}

// handled are the rights that a ruleset takes where no rule gives them.
type handled struct{ files, net, scoped uint64 }
