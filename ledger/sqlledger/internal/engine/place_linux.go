package engine

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// FileSite returns the marks that distinguish a file from its copies: no copy was created in
// the same nanosecond. Copies of whole disks keep the file's number, and it may repeat on
// another file system. It serves file systems that do not record creation times.
func FileSite(path string) (Site, error) {
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_BTIME|unix.STATX_INO, &st); err != nil {
		return nil, &os.PathError{Op: "statx", Path: path, Err: err}
	}
	out := Site{Inode: strconv.FormatUint(st.Ino, 10)}
	if st.Mask&unix.STATX_BTIME != 0 && st.Btime.Sec > 0 {
		out[Born] = strconv.FormatInt(st.Btime.Sec, 10) + "." + strconv.FormatUint(uint64(st.Btime.Nsec), 10)
	}
	return out, nil
}
