package sandbox

import "golang.org/x/sys/unix"

// shared are calls that change the machine for everybody, or reach memory and queues of
// other programs that have no path.
func shared() []uint32 {
	return []uint32{
		unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
		unix.SYS_SYSLOG, unix.SYS_QUOTACTL, unix.SYS_ACCT, unix.SYS_SWAPOFF, unix.SYS_VHANGUP,
		unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
		unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
		unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES, unix.SYS_PROCESS_MADVISE, unix.SYS_KCMP,
	}
}

// processes refuses what bounds or schedules a process but the caller, which no scope of
// Landlock covers: limits, priorities and processors of what is outside.
func (f *filter) processes() {
	f.load(callNumber)
	for _, nr := range []uint32{
		unix.SYS_PRLIMIT64, unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETATTR,
	} {
		f.when(nr, 4)
		f.load(firstArg)
		f.when(0, 1) // itself
		f.allow()
		f.refuse(unix.EPERM)
	}
	for _, call := range []struct{ nr, process uint32 }{{unix.SYS_SETPRIORITY, unix.PRIO_PROCESS}, {unix.SYS_IOPRIO_SET, ioprioProcess}} {
		f.when(call.nr, 6)
		f.load(firstArg)
		f.when(call.process, 3)
		f.load(firstArg + 8)
		f.when(0, 1)
		f.allow()
		f.refuse(unix.EPERM)
	}
}

const ioprioProcess = 1 // IOPRIO_WHO_PROCESS
