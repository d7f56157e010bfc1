package org.rackbench.services;

/**
 * The service {@code Matrix} (004, section 3.1): standard SOAP. Under the name {@code
 * MatrixMultiRef} it answers with Axis's defaults.
 */
public final class MatrixService {

  public float[][] getMatrix(float[][] matrix) {
    return matrix;
  }
}
