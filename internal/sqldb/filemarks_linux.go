package sqldb

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// FileMarks returns the marks that distinguish a file from its copies: when it was made,
// empty if the file system does not record that, and its number. No copy was made in
// the same nanosecond. Copies of whole disks keep the file's number, and it may repeat on
// another file system.
func FileMarks(path string) (born, inode string, err error) {
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_BTIME|unix.STATX_INO, &st); err != nil {
		return "", "", &os.PathError{Op: "statx", Path: path, Err: err}
	}
	if st.Mask&unix.STATX_BTIME != 0 && st.Btime.Sec > 0 {
		born = strconv.FormatInt(st.Btime.Sec, 10) + "." + strconv.FormatUint(uint64(st.Btime.Nsec), 10)
	}
	return born, strconv.FormatUint(st.Ino, 10), nil
}
