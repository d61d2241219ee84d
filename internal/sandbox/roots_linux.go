package sandbox

// systemRoots are what every command may read. Of /proc it is what tells about the
// machine, not about processes: what a process may read of itself there, the kernel
// cannot be told to allow for its children.
func systemRoots() []string {
	return []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store", "/run/current-system", "/snap",
		"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/sys/devices/system", "/sys/fs/cgroup",
		"/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/proc/uptime", "/proc/version", "/proc/filesystems", "/proc/sys",
	}
}
