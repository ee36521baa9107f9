package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// pseudo opens a pseudo terminal: the person's end, and the command's.
func pseudo(t *testing.T) (person, command *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo terminals here: ", err)
	}
	t.Cleanup(func() { person.Close() })
	fd := int(person.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if command, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { command.Close() })
	return person, command
}

// terminal returns one with a line of input.
func terminal(t *testing.T, typed string) *os.File {
	t.Helper()
	person, command := pseudo(t)
	if _, err := io.WriteString(person, typed); err != nil {
		t.Fatal(err)
	}
	return command
}

// screen is a terminal whose text can be read.
type screen struct {
	file *os.File // for the command
	text bytes.Buffer
	over chan struct{}
}

func newScreen(t *testing.T) *screen {
	t.Helper()
	person, command := pseudo(t)
	s := &screen{file: command, over: make(chan struct{})}
	go func() {
		defer close(s.over)
		_, _ = io.Copy(&s.text, person) // ends with an error once the command's end is closed
	}()
	t.Cleanup(func() { s.read() })
	return s
}

// read returns the output, and closes the terminal.
func (s *screen) read() string {
	s.file.Close()
	<-s.over
	return s.text.String()
}
