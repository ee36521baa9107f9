package sqlledger

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// fileMarks tells a file from its copies: no copy was made in the same nanosecond.
// Its number is kept by copies of whole disks as well, and may be the same on another
// file system; it is for those that do not know when a file was made.
func fileMarks(path string) (site, error) {
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_BTIME|unix.STATX_INO, &st); err != nil {
		return nil, &os.PathError{Op: "statx", Path: path, Err: err}
	}
	out := site{inode: strconv.FormatUint(st.Ino, 10)}
	if st.Mask&unix.STATX_BTIME != 0 && st.Btime.Sec > 0 {
		out[born] = strconv.FormatInt(st.Btime.Sec, 10) + "." + strconv.FormatUint(uint64(st.Btime.Nsec), 10)
	}
	return out, nil
}
