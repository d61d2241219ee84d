package worktree

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxName is the longest name that is good as a file name and in a ref everywhere.
const maxName = 100

// DirName turns a full agent id into one path component that is also good in a ref. An
// id of a-z, 0-9 and '-' is its own name. Any other gets the hash of the whole id, so
// that two ids never share a name.
func DirName(agent string) string {
	clean := strings.Map(func(r rune) rune {
		if r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, agent)
	if clean == agent && agent != "" && len(agent) <= maxName && agent[0] != '-' {
		return agent
	}
	sum := sha256.Sum256([]byte(agent))
	return "x-" + clean[:min(len(clean), 30)] + "-" + hex.EncodeToString(sum[:16])
}

// MakeRoot creates the directory that leased directories or their records live in, for
// this user alone, and returns its real path. Its parents may be links; it may not.
func MakeRoot(root string) (string, error) {
	if !filepath.IsAbs(root) {
		return "", refuse(root, "the root of worktrees must be an absolute path")
	}
	root = filepath.Clean(root)
	fi, err := os.Lstat(root)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(root, 0o700); err != nil {
			return "", fmt.Errorf("create the root of worktrees: %w", err)
		}
		fi, err = os.Lstat(root)
	}
	if err != nil {
		return "", fmt.Errorf("check the root of worktrees: %w", err)
	}
	if !fi.IsDir() {
		return "", refuse(root, "the root of worktrees is %s", kind(fi))
	}
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", fmt.Errorf("check the root of worktrees: %w", err)
	}
	return real, nil
}
