//! The samples of an Inspect archive (`.eval`), which is a zip: its header and then each sample, one JSON value after
//! another (APPNOTE.TXT of the zip format, sections 4.3.7, 4.3.12 and 4.3.16).

const MAGIC: &[u8] = b"PK\x03\x04";
const ENTRY: &[u8] = b"PK\x01\x02";
const END: &[u8] = b"PK\x05\x06";
/// The comment after the directory is at most so long.
const LONGEST_COMMENT: usize = 1 << 16;

/// One file of an archive, still packed.
pub(crate) struct Packed<'a> {
    pub(crate) method: u16,
    pub(crate) bytes: &'a [u8],
}

/// Whether the bytes begin like an archive.
pub(crate) fn is_archive(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

/// The header and the samples of an archive in their order; `None` where it holds no sample. The header is missing
/// while its run goes on; then what the run began with is shown.
pub(crate) fn samples(archive: &[u8]) -> Option<Vec<Packed<'_>>> {
    let (mut headers, mut samples) = ([None, None], Vec::new());
    for (name, packed) in directory(archive)? {
        match name {
            b"header.json" => headers[0] = Some(packed),
            b"_journal/start.json" => headers[1] = Some(packed),
            name if name.starts_with(b"samples/") && name.ends_with(b".json") => {
                samples.push(packed)
            }
            _ => {}
        }
    }
    let header = headers.into_iter().flatten().next();
    (!samples.is_empty()).then(|| header.into_iter().chain(samples).collect())
}

/// The files that the directory at the end of an archive names.
fn directory(archive: &[u8]) -> Option<Vec<(&[u8], Packed<'_>)>> {
    let from = archive.len().saturating_sub(LONGEST_COMMENT + 22);
    let end = from + memchr::memmem::rfind(&archive[from..], END)?;
    let mut at = number(archive, end + 16, 4)?;
    let mut files = Vec::new();
    while archive.get(at..)?.starts_with(ENTRY) {
        let [method, size, name, extra, comment, local] =
            [(10, 2), (20, 4), (28, 2), (30, 2), (32, 2), (42, 4)]
                .map(|(place, width)| number(archive, at + place, width));
        let (name, local) = (name?, local?);
        let spelled = archive.get(at + 46..at + 46 + name)?;
        let begins = local + 30 + number(archive, local + 26, 2)? + number(archive, local + 28, 2)?;
        let packed = Packed {
            method: u16::try_from(method?).ok()?,
            bytes: archive.get(begins..begins.checked_add(size?)?)?,
        };
        files.push((spelled, packed));
        at += 46 + name + extra? + comment?;
    }
    Some(files)
}

fn number(bytes: &[u8], at: usize, width: usize) -> Option<usize> {
    let digits = bytes.get(at..at.checked_add(width)?)?.iter().rev();
    Some(digits.fold(0, |sum, digit| sum << 8 | usize::from(*digit)))
}

#[cfg(test)]
pub(crate) mod tests {
    /// An archive of files: name, method, packed bytes.
    pub(crate) fn archive(files: &[(&str, u16, Vec<u8>)]) -> Vec<u8> {
        let (mut archive, mut directory) = (Vec::new(), Vec::new());
        for (name, method, packed) in files {
            let local = archive.len() as u32;
            let size = (packed.len() as u32).to_le_bytes();
            let length = (name.len() as u16).to_le_bytes();
            let middle = [
                &method.to_le_bytes()[..],
                &[0; 8],
                &size,
                &size,
                &length,
                &[0; 2],
            ]
            .concat();
            archive.extend(
                [
                    super::MAGIC,
                    &[20, 0, 0, 0],
                    &middle,
                    name.as_bytes(),
                    packed,
                ]
                .concat(),
            );
            let place = local.to_le_bytes();
            directory.extend(
                [
                    super::ENTRY,
                    &[20, 0, 20, 0, 0, 0],
                    &middle,
                    &[0; 10],
                    &place,
                    name.as_bytes(),
                ]
                .concat(),
            );
        }
        let count = (files.len() as u16).to_le_bytes();
        let (size, start) = (directory.len() as u32, archive.len() as u32);
        archive.extend(directory);
        archive.extend(
            [
                super::END,
                &[0; 4],
                &count,
                &count,
                &size.to_le_bytes(),
                &start.to_le_bytes(),
                &[0; 2],
            ]
            .concat(),
        );
        archive
    }

    #[test]
    fn what_is_no_archive_of_samples_is_none() {
        assert!(super::samples(b"PK\x03\x04 and nothing else").is_none());
        assert!(super::samples(&archive(&[("notes.txt", 0, b"x".to_vec())])).is_none());
        let whole = archive(&[("samples/1.json", 0, b"{}".to_vec())]);
        assert_eq!(super::samples(&whole).map(|files| files.len()), Some(1));
        for end in 0..whole.len() {
            let _ = super::samples(&whole[..end]);
        }
    }
}
