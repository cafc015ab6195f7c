#!/bin/sh
# SPDX-License-Identifier: MIT
# shellcheck shell=dash disable=SC2154
# timeout=120
#
# The device dies in the middle of a job: from then on reads give all ones and
# no interrupt comes.  Who waits must be told, everybody else must be refused,
# and the driver must still go away.  Gets a boot of its own: see ../alone.

# shellcheck source=/dev/null
. "${0%/*}/lib"
need_device
need_control
need_command npu

file=$NPU_VM_DATA/real/silero_vad_v5.safetensors:act.encoder0_relu
cd /tmp || exit 1

job() { npu preprocess "$file" -o "$1" --device "$node" -q; }
waits() { [ ! -e job.status ]; }
ended() { [ -e job.status ]; }
failed_job() { [ "$(cat job.status)" != 0 ] && [ ! -e lost.npy ]; }

check 'a job before' job before.npy
vdev slow ring=2 ms=8000 >/dev/null
( job lost.npy; echo $? >job.status ) &
sleep 1
check 'a job is running' waits
vdev crash
check 'the job is ended' wait_for 60 ended
check 'with an error' failed_job
check 'no job after that' eval '! job after.npy'
check 'nothing waits for ever' timeout 60 npu info
wait
finish
