package main

import (
	"bufio"
	"io"
	"strconv"
	"strings"
	"time"
)

// event is one Server-Sent Event.
type event struct {
	id    string
	data  string
	retry time.Duration // 0: not told
}

// events calls emit for every event until the stream ends; nil says that it ended whole.
func events(r io.Reader, emit func(event)) error {
	lines := bufio.NewReader(r)
	var ev event
	something := false
	for {
		line, err := lines.ReadString('\n')
		if err == io.EOF && line == "" && !something {
			return nil
		}
		if err != nil {
			return err
		}
		line = strings.TrimRight(line, "\r\n")
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if something {
				emit(ev)
			}
			ev, something = event{}, false
			continue
		case name == "": // a comment
			continue
		case name == "id":
			ev.id = value
		case name == "retry":
			ms, err := strconv.Atoi(value)
			if err != nil {
				return err
			}
			ev.retry = time.Duration(ms) * time.Millisecond
		case name == "data":
			ev.data += value
		}
		something = true
	}
}
