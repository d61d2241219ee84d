package sandbox

import "os"

func probe() Machine {
	const program = "/usr/bin/sandbox-exec"
	if _, err := os.Stat(program); err != nil {
		return Machine{Missing: []string{"there is no " + program}}
	}
	return Machine{Seatbelt: program, Missing: []string{"macOS has no way to find a process that has left its session, so such a process is not ended"}}
}

// systemRoots are what every command may read.
func systemRoots() []string {
	return []string{"/usr", "/bin", "/sbin", "/System", "/Library", "/opt", "/private/etc", "/etc", "/Applications/Xcode.app", "/nix/store"}
}
