package bench

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/lethe-storage/lethe"
)

// notice is the kernel's struct seccomp_notif.
type notice struct {
	id    uint64
	pid   uint32
	flags uint32
	nr    int32
	arch  uint32
	ip    uint64
	args  [6]uint64
}

// reply is the kernel's struct seccomp_notif_resp.
type reply struct {
	id    uint64
	value int64
	err   int32
	flags uint32
}

// answer takes the kernel's questions about one program, until that has ended.
func (f *Flushes) answer(conn *net.UnixConn) {
	fd, err := received(conn)
	_ = conn.Close() // it has brought what it was for
	if err != nil {
		return // the program does not start, and is reported then
	}
	defer unix.Close(fd)
	// One thread for all that wait: the one that asked first is the first to go on.
	var waiting []pending
	for {
		if len(waiting) > 0 && waiting[0].until <= now() {
			f.admit(fd, waiting[0].id)
			waiting = waiting[1:]
			continue
		}
		asked, ended := await(fd, waiting)
		if ended {
			return
		}
		if asked {
			if id, ok := ask(fd); ok {
				waiting = append(waiting, pending{id, now().Add(f.Delay)})
			}
		}
	}
}

func now() lethe.Time { return lethe.Monotonic{}.Now() }

// pending is a call that waits.
type pending struct {
	id    uint64
	until lethe.Time
}

// await waits until the kernel asks, until nobody is left that could, or until it is time
// for the first of those that wait.
func await(fd int, waiting []pending) (asked, ended bool) {
	var limit *unix.Timespec
	if len(waiting) > 0 {
		left := unix.NsecToTimespec(max(0, waiting[0].until.Sub(now())).Nanoseconds())
		limit = &left
	}
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Ppoll(fds, limit, nil)
	if err != nil || n == 0 {
		return false, err != nil && err != unix.EINTR
	}
	return fds[0].Revents&unix.POLLIN != 0, fds[0].Revents&unix.POLLIN == 0
}

// ask takes a question; false: who asked is gone.
func ask(fd int) (id uint64, ok bool) {
	var asked notice
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&asked)))
	return asked.id, errno == 0
}

// admit lets the call go on.
func (f *Flushes) admit(fd int, id uint64) {
	f.n.Add(1)
	r := reply{id: id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	// A thread that was killed meanwhile needs no answer.
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&r)))
}

// received takes the descriptor that Flushed sends.
func received(conn *net.UnixConn) (fd int, err error) {
	rights := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := conn.ReadMsgUnix(make([]byte, 1), rights)
	if err != nil {
		return 0, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) != 1 {
		return 0, errors.Join(errors.New("bench: no descriptor came"), err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return 0, errors.Join(errors.New("bench: no descriptor came"), err)
	}
	return fds[0], nil
}

// Flushed becomes a program whose flushes are asked about: args are the socket of a
// Flushes, and the program with its arguments. It returns only with an error.
func Flushed(args []string) error {
	if len(args) < 2 {
		return errors.New("bench: flushed needs a socket and a program")
	}
	path, err := exec.LookPath(args[1])
	if err != nil {
		return err
	}
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: args[0]})
	if err != nil {
		return err
	}
	// What the thread may do passes to the program, which it becomes.
	runtime.LockOSThread()
	fd, err := watch()
	if err != nil {
		return err
	}
	if _, _, err := conn.WriteMsgUnix([]byte{0}, unix.UnixRights(fd), nil); err != nil {
		return err
	}
	return fmt.Errorf("bench: %s: %w", path, syscall.Exec(path, args[1:], os.Environ()))
}

// watch has the kernel ask about the flushes of this thread, and of all that it starts,
// and returns where it asks.
func watch() (fd int, err error) {
	// Offsets in the kernel's struct seccomp_data.
	const number, thirdArgument = 0, 32
	calls := []uint32{unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_MSYNC, unix.SYS_SYNC, unix.SYS_SYNCFS}
	n := uint8(len(calls))
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: number}}
	for i, c := range calls {
		filter = append(filter, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: c, Jt: n - uint8(i) + 3})
	}
	filter = append(filter,
		unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_OPENAT, Jf: 2},
		unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: thirdArgument},
		unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: unix.O_DSYNC, Jt: 1},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF})
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("bench: watch flushes: %w", err)
	}
	// Signals wait until a question is answered: otherwise each would ask again.
	r, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return 0, fmt.Errorf("bench: watch flushes: %w", errno)
	}
	return int(r), nil
}
