//! `release`.

use super::{Layout, amount, list, symbol, text, texts};
use crate::avro::{Cursor, Fault, Sink};
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{Gpu, Hardware, HardwareKind, Release, SoftwareTag};

const KINDS: [HardwareKind; 2] = [HardwareKind::Cpu, HardwareKind::Gpu];

impl Layout for Release {
    fn read(at: &mut Cursor<'_>) -> Result<Release, Fault> {
        Ok(Release {
            queue: text(at)?,
            changed_at: at.long()?,
            cmtconfigs: list(at, text)?,
            containers: list(at, text)?,
            cvmfs: list(at, text)?,
            hardware: list(at, read_hardware)?,
            tags: list(at, read_tag)?,
            gpus: list(at, read_gpu)?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        let mut sink = Sink::begin(out, Topic::Release);
        sink.string(&self.queue);
        sink.long(self.changed_at);
        texts(&mut sink, &self.cmtconfigs);
        texts(&mut sink, &self.containers);
        texts(&mut sink, &self.cvmfs);
        sink.array(&self.hardware, |sink, hardware| {
            sink.index(hardware.kind as usize);
            texts(sink, &hardware.arch);
            texts(sink, &hardware.vendor);
            texts(sink, &hardware.instr);
            texts(sink, &hardware.model);
        });
        sink.array(&self.tags, |sink, tag| {
            sink.string(&tag.tag);
            sink.string(&tag.cmtconfig);
            sink.string(&tag.project);
            sink.string(&tag.release);
            sink.string(&tag.container_name);
            texts(sink, &tag.sources);
        });
        sink.array(&self.gpus, |sink, gpu| {
            sink.string(&gpu.vendor);
            sink.string(&gpu.model);
            sink.amount(gpu.vram_mb);
            sink.string(&gpu.microarchitecture);
            sink.string(&gpu.framework_version);
            sink.string(&gpu.driver_version);
        });
    }
}

fn read_hardware(at: &mut Cursor<'_>) -> Result<Hardware, Fault> {
    Ok(Hardware {
        kind: symbol(at, &KINDS)?,
        arch: list(at, text)?,
        vendor: list(at, text)?,
        instr: list(at, text)?,
        model: list(at, text)?,
    })
}

fn read_tag(at: &mut Cursor<'_>) -> Result<SoftwareTag, Fault> {
    Ok(SoftwareTag {
        tag: text(at)?,
        cmtconfig: text(at)?,
        project: text(at)?,
        release: text(at)?,
        container_name: text(at)?,
        sources: list(at, text)?,
    })
}

fn read_gpu(at: &mut Cursor<'_>) -> Result<Gpu, Fault> {
    Ok(Gpu {
        vendor: text(at)?,
        model: text(at)?,
        vram_mb: amount(at)?,
        microarchitecture: text(at)?,
        framework_version: text(at)?,
        driver_version: text(at)?,
    })
}
