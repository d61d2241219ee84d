//go:build !linux && !darwin

package sandbox

func probe() Machine {
	return Machine{Missing: []string{"there is no sandbox for this system"}}
}

func systemRoots() []string { return nil }
