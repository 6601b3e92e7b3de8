//! Derived datatypes: how MPI is told of rows at a distance.

use std::os::raw::c_int;

use mpi::ffi::{self, MPI_Datatype};

use super::call::{check, count};
use crate::{CommError, Region};

/// The datatypes of an epoch. A plan has at most four shapes of chunks, so a list is enough.
#[derive(Default)]
pub(super) struct Datatypes(Vec<(Region, MPI_Datatype)>);

impl Datatypes {
    /// Count and datatype that describe a region from its offset on.
    pub(super) fn describe(&mut self, region: Region) -> Result<(c_int, MPI_Datatype), CommError> {
        let bytes = region.rows.saturating_mul(region.cols).saturating_mul(region.element);
        if region.is_dense()
            && let Ok(bytes) = c_int::try_from(bytes)
        {
            // SAFETY: a handle that MPI defines.
            return Ok((bytes, unsafe { ffi::RSMPI_UINT8_T }));
        }
        let shape = Region { offset: 0, ..region };
        if let Some((_, datatype)) = self.0.iter().find(|(known, _)| *known == shape) {
            return Ok((1, *datatype));
        }
        let datatype = derive(&shape)?;
        self.0.push((shape, datatype));
        Ok((1, datatype))
    }
}

/// Rows at a distance, of bytes or of elements at a distance.
fn derive(region: &Region) -> Result<MPI_Datatype, CommError> {
    let length = |value: u64| count(usize::try_from(value).unwrap_or(usize::MAX));
    // One row or column may have any stride: no step is ever taken by it.
    let step = |count: u64, stride: u64| if count > 1 { stride as ffi::MPI_Aint } else { 0 };
    let (rows, row_step) = (length(region.rows)?, step(region.rows, region.row_stride));
    // SAFETY: every datatype is written before it is used, and the inner one is freed after its last use: MPI keeps
    // what the outer one needs of it.
    unsafe {
        let (mut inner, mut outer) = (ffi::RSMPI_DATATYPE_NULL, ffi::RSMPI_DATATYPE_NULL);
        let hvector = "MPI_Type_create_hvector";
        if region.has_dense_rows() {
            let bytes = length(region.cols.saturating_mul(region.element))?;
            check(hvector, ffi::MPI_Type_create_hvector(rows, bytes, row_step, ffi::RSMPI_UINT8_T, &mut outer))?;
        } else {
            let (cols, element) = (length(region.cols)?, length(region.element)?);
            let col_step = step(region.cols, region.col_stride);
            check(hvector, ffi::MPI_Type_create_hvector(cols, element, col_step, ffi::RSMPI_UINT8_T, &mut inner))?;
            check(hvector, ffi::MPI_Type_create_hvector(rows, 1, row_step, inner, &mut outer))?;
            check("MPI_Type_free", ffi::MPI_Type_free(&mut inner))?;
        }
        check("MPI_Type_commit", ffi::MPI_Type_commit(&mut outer))?;
        Ok(outer)
    }
}

impl Drop for Datatypes {
    fn drop(&mut self) {
        for (_, datatype) in &mut self.0 {
            // SAFETY: committed above and not used after the epoch; transfers that use it keep it.
            unsafe { ffi::MPI_Type_free(datatype) };
        }
    }
}
