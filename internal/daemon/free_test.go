package daemon

import "testing"

func TestAvailableMemory(t *testing.T) {
	const text = "MemTotal:       24683368 kB\nMemFree:        19665908 kB\nMemAvailable:   23918776 kB\nBuffers:          259596 kB\n"
	if got, err := availableMemory([]byte(text)); err != nil || got != 23918776<<10 {
		t.Errorf("%d, %v", got, err)
	}
	for _, bad := range []string{"", "MemTotal: 1 kB\n", "MemAvailable: many kB\n"} {
		if got, err := availableMemory([]byte(bad)); err == nil {
			t.Errorf("%q gives %d", bad, got)
		}
	}
}

func TestFreeRoom(t *testing.T) {
	room, err := freeRoom(t.TempDir())
	if err != nil || room.Memory < 1<<20 || room.Disk < 1<<20 {
		t.Errorf("%+v, %v", room, err)
	}
	if _, err := freeRoom("/no/such/folder"); err == nil {
		t.Error("the disk of a folder that is not there")
	}
}
